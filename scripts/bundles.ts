// The bundles of web/src, web/worker and client/src, which a checkout makes by itself: at a start, before tests, and for
// packages. They are in no commit, so that two branches that change the page do not conflict.
import { mkdirSync, readdirSync, readFileSync, renameSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { ROOT } from './repository.ts'

/** The first lines of a bundle of the page. The MIT licence of its libraries demands that they name it. */
const pageHead = () => `/* Made by scripts/bundles.ts of web/src. Changes made here are lost.
 * It may hold Preact (https://preactjs.com), Copyright (c) 2015-present Jason Miller, and @preact/signals,
 * Copyright (c) 2022-present Preact Team, lean-qr (https://github.com/davidje13/lean-qr), Copyright (c) David Evans,
 * and oauth4webapi (https://github.com/panva/oauth4webapi), Copyright 2022 Filip Skokan.
 * All are under the MIT licence:
 * ${licenceOf('preact')}
 */`
/** The licence of ZXing-C++ demands that its text comes along. */
const codesHead = () => `${pageHead()}
/* zxing-wasm (https://github.com/Sec-ant/zxing-wasm), Copyright (c) 2023 Ze-Zheng Wu, is under the MIT licence above.
 * ZXing-C++ (https://github.com/zxing-cpp/zxing-cpp), which it contains here and in zxing_reader.wasm, is under the Apache
 * licence:
 *
${textOf('@biomejs/biome/LICENSE-APACHE').replaceAll(/^/gm, ' * ')}
 */`
const workerHead = () => '/* Made by scripts/bundles.ts of web/worker. */'
const clientHead = () => '// Made by scripts/bundles.ts of client/src. Changes made here are lost.'

const BUNDLES: Readonly<Record<string, () => Buffer | Promise<Uint8Array>>> = {
  'client/dist/plantstore-client.js': () => bundle('client/src/index.ts', 'js', clientHead),
  'web/dist/page.js': () => bundle('web/src/main.tsx', 'js'),
  'web/dist/page.css': () => bundle('web/src/styles.css', 'css'),
  'web/dist/workbook.js': () => bundle('web/src/import/workbook.ts', 'js'),
  'web/dist/label-printer.js': () => bundle('web/src/labels/label-printer.ts', 'js'),
  'web/dist/oauth.js': () => bundle('web/src/session/oauth.ts', 'js'),
  'web/dist/de.js': () => bundle('web/src/language/de.ts', 'js'),
  'web/dist/fr.js': () => bundle('web/src/language/fr.ts', 'js'),
  'web/dist/es.js': () => bundle('web/src/language/es.ts', 'js'),
  'web/dist/nl.js': () => bundle('web/src/language/nl.ts', 'js'),
  'web/dist/zxing.js': () => bundle('web/src/scan/zxing.ts', 'js', codesHead),
  'web/dist/zxing_reader.wasm': () => readFileSync(join(ROOT, 'node_modules/zxing-wasm/dist/reader/zxing_reader.wasm')),
  'web/dist/index.html': file('index.html'),
  'web/dist/icon.svg': file('icon.svg'),
  'web/dist/icon-192.png': file('icon-192.png'),
  'web/dist/icon-512.png': file('icon-512.png'),
  'web/dist/app.webmanifest': file('app.webmanifest'),
  'web/dist/worker.js': () => bundle('web/worker/worker.ts', 'js', workerHead),
  'web/dist/leave.js': () => bundle('web/worker/leave.ts', 'js', workerHead),
  'web/dist-docs/page.js': () => bundle('web/src/docs/main.tsx', 'js'),
  'web/dist-docs/page.css': () => bundle('web/src/docs/docs.css', 'css'),
  'web/dist-docs/index.html': file('docs/index.html'),
  'web/dist-docs/icon.svg': file('icon.svg'),
}
/**
 * Makes all bundles if a source is newer than one of them: 0.2 s, else 5 ms. Several processes may do so at once, because
 * each file comes into its place whole.
 *
 * @throws an error of the file system, and one of the import of esbuild, which `npm ci --omit=dev` leaves out
 */
export async function makeBundles(): Promise<void> {
  const began = new Date()
  if (oldestBundle() >= newestSource()) return
  const made = await Promise.all(Object.entries(BUNDLES).map(async ([path, make]) => [path, await make()] as const))
  for (const [path, content] of made) {
    const target = join(ROOT, path)
    // Not in the folder of the bundles, whose files are all served.
    const half = join(dirname(target), '..', `.${process.pid}.${basename(target)}`)
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(half, content)
    // A source that changes meanwhile is newer.
    utimesSync(half, began, began)
    renameSync(half, target)
  }
}

function oldestBundle(): number {
  const times = Object.keys(BUNDLES).map((path) => statSync(join(ROOT, path), { throwIfNoEntry: false })?.mtimeMs ?? 0)
  return Math.min(...times)
}

/** A folder changes when a file in it comes or goes. */
function newestSource(): number {
  let newest = 0
  for (const folder of ['web/src', 'web/worker', 'client/src', 'src']) {
    const names = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    for (const name of ['', ...names]) newest = Math.max(newest, statSync(join(ROOT, folder, name)).mtimeMs)
  }
  for (const name of ['package-lock.json', 'scripts/bundles.ts'])
    newest = Math.max(newest, statSync(join(ROOT, name)).mtimeMs)
  return newest
}

async function bundle(entry: string, kind: 'js' | 'css', head = pageHead): Promise<Uint8Array> {
  // A start that makes nothing does without it.
  const { build } = await import('esbuild')
  const { outputFiles } = await build({
    entryPoints: [join(ROOT, entry)],
    absWorkingDir: ROOT,
    tsconfigRaw: {},
    jsx: 'automatic',
    jsxImportSource: 'preact',
    bundle: true,
    // The tools of a browser set out scripts and styles by themselves. Names stay for those who read a stack, except in the
    // largest script, where they would take 12 kB, compressed, of the 150 kB of a first view.
    minifySyntax: entry.startsWith('web/'),
    minifyWhitespace: entry.startsWith('web/'),
    minifyIdentifiers: entry === 'web/src/main.tsx',
    // The page loads these only for a workbook, the camera, a label printer, an identity provider, and for another
    // language than English.
    external: ['workbook', 'zxing', 'label-printer', 'oauth', 'de', 'fr', 'es', 'nl'].map((name) => `./${name}.js`),
    write: false,
    format: 'esm',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    target: 'es2022',
    charset: 'utf8',
    banner: { [kind]: head() },
    legalComments: 'none',
    logLevel: 'error',
  })
  const [output] = outputFiles
  if (output === undefined) throw new Error(`esbuild made nothing of ${entry}`)
  return output.contents
}

function file(name: string): () => Buffer {
  return () => readFileSync(join(ROOT, 'web/src', name))
}

function licenceOf(name: string): string {
  const text = textOf(`${name}/LICENSE`)
  return text.slice(text.indexOf('Permission is')).replaceAll(/\n/g, '\n * ')
}

/** A text in a package. */
function textOf(path: string): string {
  return readFileSync(join(ROOT, 'node_modules', path), 'utf8').trim()
}

if (import.meta.main) await makeBundles()
