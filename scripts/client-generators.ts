/**
 * A command and its arguments. `{dir}` stands for the generator's own folder, `{spec}` for the contract, `{out}` for the
 * folder of the client, `{programs}` for the one of our programs, and `{root}` for the one of Plantstore.
 */
export type Command = readonly [command: string, ...args: string[]]

/** The calls that each client makes, by the names that its program prints. */
export const CALLS = ['create', 'read', 'list', 'replace', 'export', 'import', '409', '412'] as const
export type Call = (typeof CALLS)[number]

/** A generator of clients from an OpenAPI document, and its expected result for our contract. */
export interface ClientGenerator {
  readonly name: string
  readonly language: string
  /** The form of the contract from which it makes an exact client. */
  readonly ids: 'number' | 'text'
  /** Commands that run in the generator's own folder. */
  readonly install: readonly Command[]
  readonly generate: Command
  /** The text in the generated source that gives the type of an id. */
  readonly id: RegExp
  /** The type of an id, as the guide says it. */
  readonly type: string
  /** The operations that the generator leaves out. */
  readonly leavesOut: readonly string[]
  /** Commands that copy our program and compile the client with it. */
  readonly build: readonly Command[]
  readonly run: Command
  /** Calls that the client cannot make, and why. */
  readonly cannot: Readonly<Partial<Record<Call, string>>>
  /** What it needs, as the guide says it. */
  readonly needs: string
}

const npm = (...packages: string[]): Command => ['npm', 'install', '--prefix', '{dir}', '--ignore-scripts', ...packages]
const npmBin = (name: string, ...args: string[]): Command => [`{dir}/node_modules/.bin/${name}`, ...args]
const copy = (from: string, to: string): Command => ['cp', `{programs}/${from}`, `{dir}/${to}`]

const OPENAPI_GENERATOR = '7.17.0'
const MAVEN_COPY = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy'
const ARTIFACT = `org.openapitools:openapi-generator-cli:${OPENAPI_GENERATOR}`
const TYPESCRIPT = ['typescript@5.9.3', '@types/node@24.13.6'] as const
const ACCEPT = '`Accept: application/json;IEEE754Compatible=true` as a header of every request'
/** Such a client writes `application/json` into each request. */
const ADDRESS = 'an address that ends with `/text-ids`'
const CONTENT_TYPE = 'the same as `Content-Type`'

/** Type-checks a program with its client, bundles and runs it. */
function typescript(program: string): Pick<ClientGenerator, 'language' | 'ids' | 'build' | 'run' | 'type'> {
  const files = ['calls.ts', `${program}.ts`]
  const options = ['--noEmit', '--strict', '--skipLibCheck', '--allowImportingTsExtensions', '--types', 'node']
  const target = [
    '--target',
    'es2022',
    '--module',
    'esnext',
    '--moduleResolution',
    'bundler',
    '--lib',
    'es2024,dom,dom.iterable',
  ]
  return {
    language: 'TypeScript',
    ids: 'text',
    type: '`string`',
    build: [
      ...files.map((file) => copy(`typescript/${file}`, file)),
      npmBin('tsc', ...options, ...target, `{dir}/${program}.ts`),
      [
        '{root}/node_modules/.bin/esbuild',
        `{dir}/${program}.ts`,
        '--bundle',
        '--platform=node',
        '--format=esm',
        '--outfile={dir}/program.mjs',
      ],
    ],
    run: ['node', '{dir}/program.mjs'],
  }
}

function golang(program: string): Pick<ClientGenerator, 'language' | 'ids' | 'build' | 'run' | 'type'> {
  return {
    language: 'Go',
    ids: 'number',
    type: '`int64`',
    build: [
      copy('go/calls.go', 'calls.go'),
      copy(`go/${program}.go`, 'main.go'),
      ['go', 'mod', 'tidy'],
      ['go', 'build', '-o', 'program', '.'],
    ],
    run: ['{dir}/program'],
  }
}

const python = {
  language: 'Python',
  ids: 'number',
  type: '`int`',
} as const
const venv: Command = ['python3', '-m', 'venv', '{dir}']
const pip = (...packages: string[]): Command => ['{dir}/bin/pip', 'install', '-q', ...packages]

const mvn: Command = ['mvn', '-q', '-B', MAVEN_COPY, `-Dartifact=${ARTIFACT}`, '-DoutputDirectory={dir}']
const openapiGenerator = (template: string, ...options: string[]): Command => [
  'java',
  '-jar',
  `{dir}/openapi-generator-cli-${OPENAPI_GENERATOR}.jar`,
  ...['generate', '-g', template, '-i', '{spec}', '-o', '{out}', ...options],
]
const MAPPINGS = 'NewPlant=PlantToAdd,NewToken=TokenToAdd,NewWebhook=WebhookToAdd'

export const GENERATORS: readonly ClientGenerator[] = [
  {
    ...typescript('openapi-fetch'),
    name: 'openapi-typescript 7.13.0 with openapi-fetch 0.17.0',
    install: [npm('openapi-typescript@7.13.0', 'openapi-fetch@0.17.0', ...TYPESCRIPT)],
    generate: npmBin('openapi-typescript', '{spec}', '-o', '{out}/schema.ts'),
    id: /\bId: string;/,
    leavesOut: [],
    cannot: {},
    needs: `${ACCEPT}, and ${CONTENT_TYPE}; a \`bodySerializer\` that returns the file at an import, and \`parseAs: 'text'\` at an export`,
  },
  {
    ...typescript('hey-api'),
    name: '@hey-api/openapi-ts 0.99.0',
    install: [npm('@hey-api/openapi-ts@0.99.0', ...TYPESCRIPT)],
    generate: npmBin('openapi-ts', '-i', '{spec}', '-o', '{out}'),
    id: /export type Id = string;/,
    leavesOut: [],
    cannot: {},
    needs: `${ACCEPT}; a \`bodySerializer\` that returns the file at an import, and \`parseAs: 'text'\` at an export`,
  },
  {
    ...typescript('orval'),
    name: 'orval 7.13.2, fetch',
    install: [npm('orval@7.13.2', ...TYPESCRIPT)],
    generate: npmBin('orval', '--input', '{spec}', '--output', '{out}/client.ts', '--client', 'fetch'),
    id: /export type Id = string;/,
    leavesOut: [],
    cannot: {
      export: 'it reads every answer as one JSON text',
      import: 'it writes every body as one JSON text',
    },
    needs: `${ACCEPT}; for files, a \`mutator\` of your own`,
  },
  {
    ...typescript('typescript-fetch'),
    name: `openapi-generator ${OPENAPI_GENERATOR}, \`typescript-fetch\``,
    install: [mvn, npm(...TYPESCRIPT)],
    generate: openapiGenerator('typescript-fetch'),
    id: /\bid: string;/,
    leavesOut: [],
    cannot: {},
    needs: ACCEPT,
  },
  {
    ...typescript('oazapfts'),
    name: 'oazapfts 7.5.0',
    install: [npm('oazapfts@7.5.0', '@oazapfts/runtime@1.2.0', ...TYPESCRIPT)],
    generate: npmBin('oazapfts', '{spec}', '{out}/client.ts'),
    id: /export type Id = string;/,
    leavesOut: [],
    cannot: { export: 'it reads NDJSON as one JSON text' },
    needs: `${ADDRESS}; the \`Content-Type\` of the file at an import`,
  },
  {
    ...typescript('swagger-typescript-api'),
    name: 'swagger-typescript-api 13.13.0',
    install: [npm('swagger-typescript-api@13.13.0', ...TYPESCRIPT)],
    generate: npmBin('swagger-typescript-api', 'generate', '-p', '{spec}', '-o', '{out}', '-n', 'client.ts'),
    id: /export type Id = string;/,
    leavesOut: [],
    cannot: { import: 'it writes every body as one JSON text' },
    needs: `${ADDRESS}; \`format: 'json'\` where the contract has several answers of success, and \`format: 'text'\` at an export`,
  },
  {
    ...python,
    name: `openapi-generator ${OPENAPI_GENERATOR}, \`python\``,
    install: [mvn, venv],
    generate: openapiGenerator('python'),
    id: /\bid: StrictInt = /,
    leavesOut: [],
    build: [
      pip('{out}'),
      copy('python/calls.py', 'calls.py'),
      copy('python/openapi-generator-python.py', 'program.py'),
    ],
    run: ['{dir}/bin/python', '{dir}/program.py'],
    cannot: {},
    needs:
      '`export_plants_without_preload_content()`, and an import of CSV with `_content_type="text/csv"`: it sends and reads NDJSON as one JSON text',
  },
  {
    ...python,
    name: 'openapi-python-client 0.29.1',
    install: [venv, pip('openapi-python-client==0.29.1')],
    generate: [
      '{dir}/bin/openapi-python-client',
      'generate',
      '--path',
      '{spec}',
      '--output-path',
      '{out}',
      '--overwrite',
    ],
    id: /^ {4}id: int$/m,
    leavesOut: ['importPlants'],
    build: [pip('{out}'), copy('python/calls.py', 'calls.py'), copy('python/openapi-python-client.py', 'program.py')],
    run: ['{dir}/bin/python', '{dir}/program.py'],
    cannot: { import: 'it leaves out operations with a body of NDJSON or CSV' },
    needs: 'for an import, `get_httpx_client()` of the client',
  },
  {
    ...golang('oapi-codegen'),
    name: 'oapi-codegen 2.8.2',
    install: [
      ['go', 'mod', 'init', 'example.org/client'],
      ['go', 'get', '-tool', 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2'],
    ],
    generate: [
      ...(['go', 'tool', 'oapi-codegen'] as const),
      ...['-generate', 'types,client', '-package', 'client', '-o', '{out}/client.go', '{spec}'],
    ],
    id: /^type Id = int64$/m,
    leavesOut: [],
    cannot: {},
    needs: '`ExportPlants` in place of `ExportPlantsWithResponse`, which takes NDJSON for a refusal',
  },
  {
    ...golang('ogen'),
    name: 'ogen 1.24.0',
    install: [
      ['go', 'mod', 'init', 'example.org/client'],
      ['go', 'get', '-tool', 'github.com/ogen-go/ogen/cmd/ogen@v1.24.0'],
    ],
    generate: ['go', 'tool', 'ogen', '--target', '{out}', '--package', 'client', '{spec}'],
    id: /^type ID int64$/m,
    leavesOut: [],
    cannot: {},
    needs: '',
  },
  {
    ...golang('openapi-generator'),
    name: `openapi-generator ${OPENAPI_GENERATOR}, \`go\``,
    install: [mvn, ['go', 'mod', 'init', 'example.org/client']],
    generate: openapiGenerator(
      'go',
      ...['--additional-properties', 'packageName=client,withGoMod=false', '--model-name-mappings', MAPPINGS],
      ...['--global-property', 'apiTests=false,modelTests=false'],
    ),
    id: /Id int64 `json:"id"`/,
    leavesOut: [],
    cannot: {},
    needs: `\`--model-name-mappings ${MAPPINGS}\`, because its constructor of a Plant is called \`NewPlant\`, too; the text of an export is in the body of its answer`,
  },
  {
    name: `openapi-generator ${OPENAPI_GENERATOR}, \`java\``,
    language: 'Java',
    ids: 'number',
    type: '`Long`',
    install: [mvn],
    generate: openapiGenerator('java'),
    id: /private Long id;/,
    leavesOut: [],
    build: [
      copy('java/Calls.java', 'client/src/main/java/Calls.java'),
      [
        ...(['mvn', '-q', '-B', '-f', '{out}', '-Dmaven.test.skip=true', '-Djava.version=17'] as const),
        ...['-Dmaven.compiler.source=17', '-Dmaven.compiler.target=17'],
        ...['package', 'dependency:copy-dependencies', '-DoutputDirectory=target/lib'],
      ],
    ],
    run: ['java', '-cp', '{out}/target/classes:{out}/target/lib/*', 'Calls'],
    cannot: {},
    needs: '',
  },
  {
    name: `openapi-generator ${OPENAPI_GENERATOR}, \`rust\``,
    language: 'Rust',
    ids: 'number',
    type: '`i64`',
    install: [mvn],
    generate: openapiGenerator('rust'),
    id: /pub id: i64,/,
    leavesOut: [],
    build: [
      ['mkdir', '-p', '{out}/src/bin'],
      copy('rust/calls.rs', 'client/src/bin/calls.rs'),
      ['cargo', 'add', '--quiet', '--manifest-path', '{out}/Cargo.toml', 'tokio', '--features', 'macros,rt'],
      ['cargo', 'build', '--quiet', '--manifest-path', '{out}/Cargo.toml', '--bin', 'calls'],
    ],
    run: ['{out}/target/debug/calls'],
    cannot: {
      export: 'it takes NDJSON for one JSON text, and no other type',
      import: 'it sends every body as `application/json`',
    },
    needs: 'for files, requests of your own by `configuration.client`',
  },
]
