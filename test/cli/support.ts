import type { TestContext } from 'node:test'
import { plantsIn, tempFolder } from '../support/files.ts'
import { type Server, startServer, TOKEN } from '../support/process.ts'
import { wholeFile } from '../support/whole-file.ts'

/** A server, and a folder for the files of its commands. */
export interface Scene extends Server {
  readonly folder: string
}

let shared: Promise<Server> | undefined

/** The server that the tests of a file share, without plants. */
export async function servedEmpty(t: TestContext): Promise<Scene> {
  shared ??= startServer(wholeFile, tempFolder(wholeFile))
  const server = await shared
  const headers = { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/x-ndjson' }
  const body = Array.from(plantsIn(server.storePath).keys(), (id) => `{"id":${id}}\n`).join('')
  await fetch(`${server.address}/plants/import?mode=delete`, { method: 'POST', headers, body })
  return { folder: tempFolder(t), ...server }
}
