/**
 * A command and its arguments. `{dir}` stands for the generator's own folder, `{spec}` for the contract, and `{out}`
 * for the folder of the client.
 */
export type Command = readonly [command: string, ...args: string[]]

/** A generator of clients from an OpenAPI document, and its expected result for our contract. */
export interface ClientGenerator {
  readonly name: string
  readonly language: string
  /** Commands that run in the generator's own folder. */
  readonly install: readonly Command[]
  readonly generate: Command
  /** The text in the generated source that gives the type of an id. */
  readonly id: RegExp
  /** The operations that the generator leaves out. */
  readonly leavesOut: readonly string[]
}

const npm = (...packages: string[]): Command => ['npm', 'install', '--prefix', '{dir}', '--ignore-scripts', ...packages]
const npmBin = (name: string, ...args: string[]): Command => [`{dir}/node_modules/.bin/${name}`, ...args]

const OPENAPI_GENERATOR = '7.17.0'
const MAVEN_COPY = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy'
const ARTIFACT = `org.openapitools:openapi-generator-cli:${OPENAPI_GENERATOR}`

function openapiGenerator(template: string, language: string, id: RegExp): ClientGenerator {
  return {
    name: `openapi-generator ${OPENAPI_GENERATOR}, ${template}`,
    language,
    install: [['mvn', '-q', '-B', MAVEN_COPY, `-Dartifact=${ARTIFACT}`, '-DoutputDirectory={dir}']],
    generate: [
      'java',
      '-jar',
      `{dir}/openapi-generator-cli-${OPENAPI_GENERATOR}.jar`,
      ...['generate', '-g', template, '-i', '{spec}', '-o', '{out}'],
    ],
    id,
    leavesOut: [],
  }
}

export const GENERATORS: readonly ClientGenerator[] = [
  {
    name: 'openapi-typescript 7.13.0',
    language: 'TypeScript',
    install: [npm('openapi-typescript@7.13.0', 'typescript@5.9.3')],
    generate: npmBin('openapi-typescript', '{spec}', '-o', '{out}/client.ts'),
    id: /\bId: number;/,
    leavesOut: [],
  },
  {
    name: '@hey-api/openapi-ts 0.99.0',
    language: 'TypeScript',
    install: [npm('@hey-api/openapi-ts@0.99.0', 'typescript@5.9.3')],
    generate: npmBin('openapi-ts', '-i', '{spec}', '-o', '{out}'),
    id: /export type Id = number;/,
    leavesOut: [],
  },
  {
    name: 'orval 7.13.2',
    language: 'TypeScript',
    install: [npm('orval@7.13.2')],
    generate: npmBin('orval', '--input', '{spec}', '--output', '{out}/client.ts'),
    id: /export type Id = number;/,
    leavesOut: [],
  },
  openapiGenerator('typescript-fetch', 'TypeScript', /\bid: number;/),
  openapiGenerator('python', 'Python', /\bid: StrictInt = /),
  openapiGenerator('java', 'Java', /private Long id;/),
  openapiGenerator('go', 'Go', /Id int64 `json:"id"`/),
  openapiGenerator('rust', 'Rust', /pub id: i64,/),
  {
    name: 'openapi-python-client 0.29.1',
    language: 'Python',
    install: [
      ['python3', '-m', 'venv', '{dir}'],
      ['{dir}/bin/pip', 'install', '-q', 'openapi-python-client==0.29.1'],
    ],
    generate: ['{dir}/bin/openapi-python-client', 'generate', '--path', '{spec}', '--output-path', '{out}/client'],
    id: /^ {4}id: int$/m,
    // It knows neither NDJSON nor CSV as a body.
    leavesOut: ['importPlants'],
  },
  {
    name: 'oapi-codegen 2.8.2',
    language: 'Go',
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
  },
  {
    name: 'ogen 1.24.0',
    language: 'Go',
    install: [
      ['go', 'mod', 'init', 'example.org/client'],
      ['go', 'get', '-tool', 'github.com/ogen-go/ogen/cmd/ogen@v1.24.0'],
    ],
    generate: ['go', 'tool', 'ogen', '--target', '{out}', '--package', 'client', '{spec}'],
    id: /^type ID int64$/m,
    leavesOut: [],
  },
]
