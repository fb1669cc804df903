import { writePlace } from '../src/http/resources/lists.ts'
import { nameOf, queryOf, tagOf } from './plants.ts'

/** The kinds of requests. */
export type Work =
  /** Creates new plants with ascending ids. */
  | 'create'
  /** Creates new plants with random ids. */
  | 'create at random'
  /** Reads one plant. */
  | 'get'
  /** Lists the first page of 50 by id. */
  | 'page'
  /** Lists a page of 50 by id after a random plant. */
  | 'any page'
  /** Lists the first 50 results of a search for two words. */
  | 'search'
  /** Lists the first 50 results by name. */
  | 'search by name'
  /** Lists the first 50 results by name for one word that many plants have, but not first in their names. */
  | 'word by name'

export interface WorkOptions {
  readonly work: Work
  readonly token: string
  /** Existing plants to read, with the ids from 1 on. */
  readonly plants: number
  readonly firstId: number
}

/** Returns the bytes of the next request. */
export function requests({ work, token, plants, firstId }: WorkOptions): () => string {
  const head = `Host: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\n`
  const get = (path: () => string) => () => `GET ${path()} HTTP/1.1\r\n${head}\r\n`
  const anyPlant = () => 1 + Math.floor(Math.random() * plants)
  switch (work) {
    case 'get':
      return get(() => `/plants/${anyPlant()}`)
    case 'page':
      return get(() => '/plants?limit=50')
    case 'any page':
      return get(() => `/plants?limit=50&cursor=${cursorBehind(anyPlant())}`)
    case 'search':
      return get(() => `/plants?limit=50&q=${queryOf(anyPlant())}`)
    case 'search by name':
      return get(() => `/plants?limit=50&sort=name&q=${queryOf(anyPlant())}`)
    case 'word by name':
      return get(() => `/plants?limit=50&sort=name&q=${queryOf(anyPlant()).split('+').at(-1)}`)
    default:
      return creates(head, firstId, work === 'create' ? undefined : randomIds(BigInt(firstId)))
  }
}

/** Writes a cursor like those in the links of the service (src/http/resources/lists.ts). */
const cursorBehind = (id: number): string => writePlace('["plants","id",[],null]', BigInt(id), '')

function creates(head: string, firstId: number, ids: (() => bigint) | undefined): () => string {
  let count = firstId
  return () => {
    const tag = tagOf(count)
    const members = `"name":"${nameOf(count)}"${tag === undefined ? '' : `,"tag":"${tag}"`}`
    const body = `{"id":${ids?.() ?? count},${members}}`
    count++
    const length = body.length
    return `POST /plants HTTP/1.1\r\n${head}Content-Type: application/json\r\nContent-Length: ${length}\r\n\r\n${body}`
  }
}

/** SplitMix64 of a counter: yields each id once, in random order. */
function randomIds(seed: bigint): () => bigint {
  let state = seed
  return () => {
    state = BigInt.asUintN(64, state + 0x9e3779b97f4a7c15n)
    let z = state
    z = BigInt.asUintN(64, (z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n)
    z = BigInt.asUintN(64, (z ^ (z >> 27n)) * 0x94d049bb133111ebn)
    return BigInt.asIntN(64, z ^ (z >> 31n))
  }
}
