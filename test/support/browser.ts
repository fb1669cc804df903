import { join } from 'node:path'
import packed from '@sparticuz/chromium'
import { type Browser, chromium } from 'playwright-core'
import { type Scene, temporaryFolder } from './service.ts'

/** The package has a Chromium only for this system. */
export const hasBrowser = process.platform === 'linux' && process.arch === 'x64'

/** A real browser that ends with the test. */
export async function withBrowser(scene: Scene): Promise<Browser> {
  const executablePath = await unpack(temporaryFolder(scene))
  // A container, and root, have no sandbox; the browser sees nothing here but what the test serves.
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] })
  scene.after(() => browser.close())
  return browser
}

/**
 * The package unpacks to the folder for temporary files, and would take over what another user or version left there.
 */
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
