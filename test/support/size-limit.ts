import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type ProgramOptions, type Server, startServer } from './process.ts'

/** A limit at the present size of the file of a store. It stops writes like a full disk. */
export interface SizeLimit {
  readonly set: () => void
  readonly lift: () => void
}

/** Starts a server like startServer, whose store file can get a size limit. */
export async function startServerWithSizeLimit(
  t: TestContext,
  folder: string,
  env: NonNullable<ProgramOptions['env']> = {},
): Promise<Server & { readonly sizeLimit: SizeLimit }> {
  const flag = join(folder, 'size-limit')
  // Sets the maximum size of the file before each transaction: the present size while the limit is set.
  const script = `import { existsSync } from 'node:fs'
    import { DatabaseSync } from 'node:sqlite'
    const { exec } = DatabaseSync.prototype
    DatabaseSync.prototype.exec = function (sql) {
      if (sql === 'BEGIN IMMEDIATE')
        exec.call(this, 'PRAGMA max_page_count = ' + (existsSync(${JSON.stringify(flag)}) ? 1 : 1000000))
      return exec.call(this, sql)
    }`
  const nodeArgs = ['--import', `data:text/javascript,${encodeURIComponent(script)}`]
  const server = await startServer(t, folder, [], { nodeArgs, env })
  return { ...server, sizeLimit: { set: () => writeFileSync(flag, ''), lift: () => rmSync(flag) } }
}
