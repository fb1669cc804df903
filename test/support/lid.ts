import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type ProgramOptions, type Server, startServer } from './process.ts'

/** Stops the file of a store from growing while it is closed, like a full disk. */
export interface Lid {
  readonly close: () => void
  readonly open: () => void
}

/** Starts a server like startServer, whose store has a lid. */
export async function startServerWithLid(
  t: TestContext,
  folder: string,
  env: NonNullable<ProgramOptions['env']> = {},
): Promise<Server & { readonly lid: Lid }> {
  const lid = join(folder, 'lid')
  // Sets the maximum size of the file before each transaction: the present size while the lid is closed.
  const script = `import { existsSync } from 'node:fs'
    import { DatabaseSync } from 'node:sqlite'
    const { exec } = DatabaseSync.prototype
    DatabaseSync.prototype.exec = function (sql) {
      if (sql === 'BEGIN IMMEDIATE')
        exec.call(this, 'PRAGMA max_page_count = ' + (existsSync(${JSON.stringify(lid)}) ? 1 : 1000000))
      return exec.call(this, sql)
    }`
  const nodeArgs = ['--import', `data:text/javascript,${encodeURIComponent(script)}`]
  const server = await startServer(t, folder, [], { nodeArgs, env })
  return { ...server, lid: { close: () => writeFileSync(lid, ''), open: () => rmSync(lid) } }
}
