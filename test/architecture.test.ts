import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path/posix'
import { suite, test } from 'node:test'

const ROOT = new URL('../', import.meta.url)
const filesOf = (pattern: string) => globSync(pattern, { cwd: ROOT }).map((file) => file.replaceAll('\\', '/'))
const files = filesOf('{src,client/src}/**/*.ts')
const pageFiles = filesOf('web/src/**/*.{ts,tsx}')

/** The imports of each file, as paths from the root of the project. The page names as .js what it loads later. */
const imports = new Map(
  [...files, ...pageFiles].map((file) => {
    const text = readFileSync(new URL(file, ROOT), 'utf8')
    const found = text.matchAll(/(?:\bfrom|\bimport\(|^import|new URL\()\s*'(\.[^']*\.(?:tsx?|js))'/gm)
    const named = [...found].map(([, specifier = '']) => specifier.replace(/\.js$/, '.ts'))
    return [file, named.map((specifier) => normalize(join(dirname(file), specifier)))]
  }),
)

const moduleOf = (file: string): string =>
  /^(?:src\/)?(\w+)\//.exec(file)?.[1] ?? assert.fail(`${file} is in no module`)

/** Imports point inwards: the domain knows only itself, technologies know the domain, commands know all. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  domain: ['domain'],
  base: ['base', 'domain'],
  json: ['json', 'domain'],
  records: ['records', 'domain'],
  settings: ['settings', 'base', 'domain'],
  import: ['import', 'json', 'base', 'domain'],
  http: ['http', 'import', 'json', 'settings', 'base', 'domain'],
  webhooks: ['webhooks', 'settings', 'base', 'domain'],
  sqlite: ['sqlite', 'records', 'base', 'domain'],
  postgres: ['postgres', 'records', 'settings', 'base', 'domain'],
  citus: ['citus', 'postgres', 'settings', 'base', 'domain'],
  oidc: ['oidc', 'json', 'settings', 'domain'],
  mcp: ['mcp', 'http', 'base', 'domain'],
  client: ['client'],
  cli: [
    'cli',
    'client',
    'http',
    'import',
    'json',
    'sqlite',
    'postgres',
    'citus',
    'oidc',
    'mcp',
    'webhooks',
    'settings',
    'base',
    'domain',
  ],
}

suite('every import in src', () => {
  test('names an existing file', () => {
    assert.ok(files.length > 30)
    for (const file of files) {
      for (const target of imports.get(file) ?? []) assert.ok(imports.has(target), `${file} imports ${target}`)
    }
    assert.ok(imports.get('src/http/app.ts')?.includes('src/domain/errors.ts'), 'the pattern finds imports')
  })

  test('points inwards', () => {
    for (const file of files) {
      const module = moduleOf(file)
      const allowed = MAY_IMPORT[module] ?? assert.fail(`${file} is in a module that has no place yet`)
      for (const target of imports.get(file) ?? [])
        assert.ok(allowed.includes(moduleOf(target)), `${file} imports ${target}`)
    }
  })

  test('reaches an engine only through cli/open-store.ts', () => {
    const engines = ['sqlite', 'postgres', 'citus']
    const outside = files.filter((file) => !engines.includes(moduleOf(file)))
    for (const engine of engines) {
      const users = outside.filter((file) => imports.get(file)?.some((target) => moduleOf(target) === engine))
      assert.deepEqual(users, ['src/cli/open-store.ts'])
    }
  })

  test('is part of no circle, nor is an import of types', () => {
    for (const file of files) assert.equal(reaches(file, file), false, `${file} is part of a circle`)
  })
})

function reaches(from: string, to: string, seen = new Set<string>()): boolean {
  return (imports.get(from) ?? []).some((next) => {
    if (next === to) return true
    if (seen.has(next)) return false
    seen.add(next)
    return reaches(next, to, seen)
  })
}

/** The floors of the page, the lowest first. What is on one floor knows only what is below, and itself. */
const FLOORS: readonly (readonly string[])[] = [
  ['language'],
  ['page'],
  ['codes', 'session'],
  ['offline', 'scan'],
  ['plants/list'],
  ['plants/change'],
  ['plants/many'],
  ['plants/find'],
  ['actions', 'docs', 'duplicates', 'import', 'labels', 'plants/look', 'stocktake', 'tokens', 'webhooks'],
  ['views.tsx'],
  ['header.tsx'],
  ['app.tsx'],
  ['main.tsx'],
]

suite('every import in web/src', () => {
  const placeOf = (file: string): string =>
    /^(?:plants\/[^/]+|[^/]+)/.exec(file.slice('web/src/'.length))?.[0] ?? assert.fail(file)
  const floorOf = (place: string): number => FLOORS.findIndex((floor) => floor.includes(place))

  test('points down: views, which open each other by address, know nothing of each other', () => {
    assert.ok(pageFiles.length > 30)
    for (const file of pageFiles) {
      const place = placeOf(file)
      assert.notEqual(floorOf(place), -1, `${file} is in a folder that has no floor yet`)
      for (const target of (imports.get(file) ?? []).filter((each) => each.startsWith('web/src/'))) {
        assert.ok(imports.has(target), `${file} imports ${target}`)
        const isBelow = floorOf(placeOf(target)) < floorOf(place)
        assert.ok(placeOf(target) === place || isBelow, `${file} imports ${target}`)
      }
    }
    assert.ok(imports.get('web/src/scan/reader.ts')?.includes('web/src/scan/zxing.ts'), 'the pattern finds imports')
  })

  test('is part of no circle, nor is an import of types', () => {
    for (const file of pageFiles) assert.equal(reaches(file, file), false, `${file} is part of a circle`)
  })
})

/** The folder or the file, directly below a folder, that holds a file. */
const childOf = (folder: string, file: string): string => file.slice(0, `${file}/`.indexOf('/', folder.length + 1))

/**
 * The circles among the children of a folder, as the imports of all files below them make them. A thread's entry is
 * named by its address, which is no import.
 */
function circlesIn(folder: string): readonly string[] {
  const below = [...imports.keys()].filter((file) => file.startsWith(`${folder}/`))
  const uses = new Map<string, Set<string>>()
  for (const file of below) {
    const from = childOf(folder, file)
    const targets = (imports.get(file) ?? []).filter((target) => target.startsWith(`${folder}/`))
    const used = targets.filter((target) => !THREAD_ENTRIES.includes(target)).map((target) => childOf(folder, target))
    uses.set(from, (uses.get(from) ?? new Set()).union(new Set(used.filter((to) => to !== from))))
  }
  const reached = (from: string, seen = new Set<string>()): Set<string> => {
    for (const to of uses.get(from) ?? []) if (!seen.has(to)) reached(to, seen.add(to))
    return seen
  }
  return [...uses.keys()].filter((child) => reached(child).has(child)).sort()
}

const THREAD_ENTRIES = ['src/sqlite/thread.ts']

suite('the folders of src and of web/src', () => {
  const folders = new Set([...imports.keys()].flatMap((file) => parentsOf(file)))

  test('are part of no circle inside the folder that holds them', () => {
    for (const folder of folders) assert.deepEqual(circlesIn(folder), [], `a circle inside ${folder}`)
    assert.ok(folders.has('src/http/port') && folders.has('web/src/plants'), 'the folders are found')
  })
})

/** The modules of which docs/architecture.md draws the folders. */
const DRAWN = ['src/http', 'src/postgres', 'src/sqlite']

/** The line on which a drawing of the folders of a module has each of them; of files too, where it has them. */
function drawnLines(module: string): ReadonlyMap<string, number> {
  const page = readFileSync(new URL('docs/architecture.md', ROOT), 'utf8')
  const [, drawing = ''] = page.split(`\n### \`${module}/\`\n`)[1]?.split('```') ?? []
  const names = drawing
    .split('\n')
    .flatMap((line, i) => [...line.matchAll(/[\w-]+(?:\/(?= )|\.ts\b)/g)].map(([name]) => [name, i] as const))
  return new Map(names.map(([name, line]) => [`${module}/${name.replace(/\/$/, '')}`, line]))
}

suite('docs/architecture.md', () => {
  for (const module of DRAWN) {
    test(`draws every folder of ${module}, with arrows that only point down`, () => {
      const lines = drawnLines(module)
      for (const name of lines.keys())
        assert.ok(
          files.some((file) => `${file}/`.startsWith(`${name}/`)),
          name,
        )
      for (const file of files.filter((each) => each.startsWith(`${module}/`))) {
        const from = childOf(module, file)
        assert.ok(from.endsWith('.ts') || lines.has(from), `${from} is not drawn`)
        for (const target of imports.get(file) ?? []) {
          const to = target.startsWith(`${module}/`) ? childOf(module, target) : from
          const [above, below] = [lines.get(from), lines.get(to)]
          const isDown = from === to || above === undefined || below === undefined || above < below
          assert.ok(isDown || THREAD_ENTRIES.includes(target), `${file} imports ${target}, drawn above it`)
        }
      }
    })
  }
})

suite('the comments of the code and of its SQL', () => {
  const all = globSync('{src,sql,web/src,client/src,scripts,test,bench,packaging}/**/*.{ts,tsx,sql}', { cwd: ROOT })
  const known = all.map((file) => file.replaceAll('\\', '/'))

  test('name only files that exist', () => {
    let named = 0
    const stale: string[] = []
    for (const file of known.filter((each) => !each.startsWith('test/') && !each.includes('generated'))) {
      const comments = readFileSync(new URL(file, ROOT), 'utf8').match(COMMENT) ?? []
      for (const [name] of comments.flatMap((comment) => [...comment.matchAll(/[\w./-]*\w\.(?:tsx?|sql)\b/g)])) {
        named++
        const ending = `/${name.replace(/^(?:\.{1,2}\/)+/, '')}`
        if (!known.some((each) => `/${each}`.endsWith(ending))) stale.push(`${file} names ${name}`)
      }
    }
    assert.deepEqual(stale, [])
    assert.ok(named > 20, 'the names are found')
  })
})

/** A comment of TypeScript or of SQL, with the code before it on its line left out. */
const COMMENT = /(?:^|\s)(?:\/\/|--)\s.*|\/\*[\s\S]*?\*\//gm

function parentsOf(file: string): readonly string[] {
  const parent = dirname(file)
  return parent === '.' ? [] : [parent, ...parentsOf(parent)]
}

const namesCitus = (file: string): boolean => /citus|shard/i.test(readFileSync(new URL(file, ROOT), 'utf8'))

suite('the code', () => {
  const uses = (pattern: RegExp) => files.filter((file) => pattern.test(readFileSync(new URL(file, ROOT), 'utf8')))

  test('reads the environment in one place', () => {
    assert.deepEqual(uses(/process\.env\b/), ['src/cli/program.ts'])
  })

  test('imports each database library only in its folder, and the router library only in one file', () => {
    const shown = uses(/'node:sqlite'/).filter((file) => moduleOf(file) !== 'sqlite')
    assert.deepEqual(shown, ['src/base/files.ts'])
    const seen = uses(/from 'pg'/).filter((file) => moduleOf(file) !== 'postgres')
    assert.deepEqual(seen, [])
    assert.deepEqual(uses(/from 'find-my-way'/), ['src/http/router.ts'])
  })

  test('keeps no state in modules: no variable, and no collection or buffer that code could fill', () => {
    // A thread has one event loop, whose rounds all of its work shares.
    const shared = ['src/base/time-slice.ts']
    assert.deepEqual(uses(/^(?:export )?(?:let|var)\b/m), shared)
    const fillable =
      /^(?:export )?const \w+(?:: (?!Readonly|readonly)[^=]+)? = (?:new (?:Map|Set|WeakMap|WeakSet)\b|\[\]|Buffer\.alloc\((?!0\)))/m
    assert.deepEqual(uses(fillable), [])
  })

  test('reads the contract as JSON, and needs no YAML at run time', () => {
    assert.deepEqual(uses(/from 'yaml'/), [])
  })

  test('reads files of the program in one place, and starts threads in one place', () => {
    const besideItself = uses(/import\.meta\./)
    const readers = besideItself.filter((file) => imports.get(file)?.includes('src/base/assets.ts'))
    const addresses = ['src/postgres/migrate.ts', 'src/sqlite/open/prepare-file.ts']
    assert.deepEqual(besideItself.sort(), [...readers, ...addresses, 'src/sqlite/worker/start-thread.ts'].sort())
    assert.deepEqual(uses(/\bimport\.meta\.(?!url\b)/), [])
    assert.deepEqual(uses(/new Worker\(/), ['src/sqlite/worker/start-thread.ts'])
  })

  test('names Citus only in its module, in the commands and in the form of an address', () => {
    const named = [
      ...uses(/citus|shard/i),
      ...globSync('{sql,src/http}/**/*.{sql,json}', { cwd: ROOT }).filter(namesCitus),
    ]
    assert.deepEqual([...new Set(named.map(moduleOf))].sort(), ['citus', 'cli', 'settings'])
  })

  test("imports of Node.js's HTTP only types: a value would load fetch and WebSocket, which takes 45 ms of each start", () => {
    assert.deepEqual(uses(/^import (?!type\b)[^']* from 'node:http'$/m), [])
  })

  test('imports no client for outgoing connections in src/http', () => {
    const opens =
      /\bfetch\(|\b(?:http|https|net|tls)\.(?:request|get|connect)\(|import \{[^}]*\b(?:connect|request|Agent)\b[^}]*\} from 'node:/
    const shown = uses(opens).filter((file) => moduleOf(file) === 'http')
    assert.deepEqual(shown, [])
    assert.ok(uses(opens).length > 0, 'the pattern finds the clients of commands')
  })
})
