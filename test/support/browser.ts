import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import packed, { inflate } from '@sparticuz/chromium'
import { type Browser, chromium } from 'playwright-core'
import type { Scene } from './clean-up.ts'
import { tempFolder } from './files.ts'

/** Whether there is a Chromium: the package brings one only for this system. */
export const hasBrowser = process.platform === 'linux' && process.arch === 'x64'

/** The environment variable with the folder of the browser that the files of a test run share. */
export const BROWSER_VARIABLE = 'PLANTSTORE_TEST_BROWSER'

const FONTS = join(import.meta.dirname, 'fonts')

/** Starts a real browser with further flags, which ends with the test. It sees no font of this machine. */
export async function withBrowser(scene: Scene, flags: readonly string[] = []): Promise<Browser> {
  const folder = await unpacked(scene)
  const home = tempFolder(scene)
  const fonts = join(home, 'fonts.conf')
  writeFileSync(fonts, fontConfiguration([join(folder, 'fonts'), FONTS], join(home, 'cache')))
  // Containers and root cannot use the sandbox. The browser loads only what the test serves.
  // Hinted letters have other widths on paper than on the screen. This takes the option and the configuration.
  const args = ['--no-sandbox', '--disable-gpu', '--font-render-hinting=none', ...flags]
  const browser = await chromium.launch({
    executablePath: join(folder, 'chromium'),
    args,
    // The libraries from npm: plain Debian and Ubuntu lack those of NSS.
    env: { ...process.env, FONTCONFIG_FILE: fonts, LD_LIBRARY_PATH: join(folder, 'al2023/lib') },
  })
  scene.after(() => browser.close())
  return browser
}

/** Unpacks Chromium, once for a whole test run. @returns its folder */
async function unpacked(scene: Scene): Promise<string> {
  const shared = process.env[BROWSER_VARIABLE]
  if (shared === undefined) return unpack(tempFolder(scene))
  if (existsSync(shared)) return shared
  const folder = await unpack(mkdtempSync(join(dirname(shared), 'chromium-')))
  try {
    renameSync(folder, shared)
  } catch {
    // Another file of tests was faster.
    rmSync(folder, { recursive: true })
  }
  return shared
}

/** In the shared folder for temporary files, the package would use those of others. */
async function unpack(folder: string): Promise<string> {
  const before = tmpdir()
  process.env['TMPDIR'] = folder
  try {
    const bin = join(import.meta.dirname, '../../node_modules/@sparticuz/chromium/bin')
    await Promise.all([packed.executablePath(bin), inflate(join(bin, 'al2023.tar.br'))])
    return folder
  } finally {
    process.env['TMPDIR'] = before
  }
}

const fontConfiguration = (folders: readonly string[], cache: string): string => `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
${folders.map((folder) => `<dir>${folder}</dir>`).join('\n')}
<cachedir>${cache}</cachedir>
<match target="pattern"><edit name="family" mode="append_last"><string>Open Sans</string></edit></match>
<match target="font"><edit name="hinting" mode="assign"><bool>false</bool></edit></match>
</fontconfig>
`
