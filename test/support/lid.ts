import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type ProgramOptions, type Server, startServer } from './process.ts'

/** Keeps a store's file from growing, like a full disk. */
export interface Lid {
  readonly close: () => void
  readonly open: () => void
}

/** Starts a server, as startServer does, whose file can not grow while the lid is closed. */
export async function startServerWithLid(
  t: TestContext,
  folder: string,
  env: NonNullable<ProgramOptions['env']> = {},
): Promise<Server & { readonly lid: Lid }> {
  const lid = join(folder, 'lid')
  // Before each transaction the file's greatest size is set anew: none while the lid is there.
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
