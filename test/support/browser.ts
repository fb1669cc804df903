import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import packed, { inflate } from '@sparticuz/chromium'
import { type Browser, type BrowserServer, chromium, type LaunchOptions } from 'playwright-core'
import type { Scene } from './clean-up.ts'
import { tempFolder } from './files.ts'
import { throttle } from './shake.ts'

/** Whether there is a Chromium: the package brings one only for this system. */
export const hasBrowser = process.platform === 'linux' && process.arch === 'x64'

/** The environment variable with the folder of the browser that the files of a test run share. */
export const BROWSER_VARIABLE = 'PLANTSTORE_TEST_BROWSER'

/** The environment variable with the address at which the runner says where the browser of a test run is. */
export const SHARED_VARIABLE = 'PLANTSTORE_TEST_SHARED_BROWSER'

const FONTS = join(import.meta.dirname, 'fonts')

/**
 * Shares one browser among the files of a test run. It starts when the first file asks for it.
 *
 * @returns the value of SHARED_VARIABLE
 */
export async function shareBrowser(scene: Scene): Promise<string> {
  let started: Promise<BrowserServer> | undefined
  const start = async () => chromium.launchServer({ ...(await launchOptions(scene, [])), host: '127.0.0.1' })
  const server = createServer(async (_, answer) => {
    started ??= start()
    answer.end((await started).wsEndpoint())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  scene.after(async () => {
    server.close()
    await (await started)?.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/**
 * Opens a real browser, whose contexts end with the test: the one that the files of a test run share, or with further
 * flags one of its own. It sees no font of this machine.
 */
export async function withBrowser(scene: Scene, flags: readonly string[] = []): Promise<Browser> {
  const shared = flags.length > 0 ? undefined : process.env[SHARED_VARIABLE]
  // Here, because the runner starts files of tests with its environment, which unpacking changes for a moment.
  if (shared !== undefined) await unpacked(scene)
  const browser =
    shared === undefined
      ? await chromium.launch(await launchOptions(scene, flags))
      : await chromium.connect(await (await fetch(shared)).text())
  throttle(browser)
  scene.after(() => browser.close())
  return browser
}

async function launchOptions(scene: Scene, flags: readonly string[]): Promise<LaunchOptions> {
  const folder = await unpacked(scene)
  const home = tempFolder(scene)
  const fonts = join(home, 'fonts.conf')
  writeFileSync(fonts, fontConfiguration([join(folder, 'fonts'), FONTS], join(home, 'cache')))
  return {
    executablePath: join(folder, 'chromium'),
    // Containers and root cannot use the sandbox. The browser loads only what the test serves.
    // Hinted letters have other widths on paper than on the screen. This takes the option and the configuration.
    args: ['--no-sandbox', '--disable-gpu', '--font-render-hinting=none', ...flags],
    // The libraries from npm: plain Debian and Ubuntu lack those of NSS.
    env: { ...process.env, FONTCONFIG_FILE: fonts, LD_LIBRARY_PATH: join(folder, 'al2023/lib') },
  }
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
