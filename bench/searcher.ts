import { Agent, get } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { quantilesOf } from './answers.ts'
import { queryOf } from './plants.ts'

export interface SearchResult {
  readonly searches: number
  readonly refused: number
  /** Milliseconds. */
  readonly p50: number
  readonly p95: number
  readonly p99: number
}

/** Milliseconds between two searches. */
const INTERVAL = 100

/** Searches for two words at an interval, without waiting for the last answer. */
export class Searcher {
  readonly #times: number[] = []
  readonly #agent = new Agent({ keepAlive: true })
  readonly #done: Promise<void>
  #refused = 0
  #isOver = false

  /** @param interval milliseconds between two searches */
  constructor(port: number, token: string, plants: () => number, interval = INTERVAL) {
    this.#done = this.#run(port, token, plants, interval)
  }

  async end(): Promise<SearchResult> {
    this.#isOver = true
    await this.#done
    this.#agent.destroy()
    return { searches: this.#times.length, refused: this.#refused, ...quantilesOf(this.#times) }
  }

  async #run(port: number, token: string, plants: () => number, interval: number): Promise<void> {
    const under: Promise<void>[] = []
    for (let i = 0; !this.#isOver; i++) {
      const query = queryOf(1 + ((i * 7919) % Math.max(1, plants())))
      under.push(this.#search(port, token, `/plants?limit=50&q=${query}`))
      await sleep(interval)
    }
    await Promise.all(under)
  }

  #search(port: number, token: string, path: string): Promise<void> {
    const startedAt = performance.now()
    return new Promise((resolve) => {
      const end = (isFound: boolean) => {
        this.#times.push(performance.now() - startedAt)
        if (!isFound) this.#refused++
        resolve()
      }
      const headers = { authorization: `Bearer ${token}` }
      get({ host: '127.0.0.1', port, path, headers, agent: this.#agent }, (response) => {
        response.resume().once('end', () => end(response.statusCode === 200))
      }).once('error', () => end(false))
    })
  }
}
