// The calls that every client in TypeScript makes, with ids as texts. A program prints a line for each of its calls.

export interface Result {
  readonly status: number
  readonly data: unknown
}

/** The operations of a generated client, each as the client offers it. */
export interface Client {
  create(plant: { id: string; name: string; tag?: string }, onlyNew: boolean): Promise<Result>
  read(id: string): Promise<Result>
  list(): Promise<Result>
  replace(id: string, plant: { name: string }): Promise<Result>
  export(): Promise<Result>
  import(file: string): Promise<Result>
}

export const ADDRESS = process.env['PLANTSTORE_URL'] ?? ''
export const TOKEN = process.env['PLANTSTORE_TOKEN'] ?? ''
/** What a client sends in addition to what its generator writes. */
export const ACCEPT = { Accept: 'application/json;IEEE754Compatible=true' }
const IDS = ['-9223372036854775808', '9007199254740993', '9223372036854775807'] as const

export async function call(client: Client): Promise<void> {
  await check('create', async () => {
    for (const id of IDS) expect((await client.create({ id, name: 'Ginkgo', tag: 'tree' }, false)).status, 200)
  })
  await check('read', async () => {
    for (const id of IDS) expect((await client.read(id)).data, { id, name: 'Ginkgo', tag: 'tree' })
  })
  await check('list', async () => {
    const { data } = await client.list()
    expect(
      (data as { id: string }[]).map(({ id }) => id),
      IDS,
    )
  })
  await check('replace', async () => {
    expect((await client.replace(IDS[1], { name: 'Ginkgo biloba' })).data, { id: IDS[1], name: 'Ginkgo biloba' })
  })
  await check('export', async () => {
    const { data } = await client.export()
    expect(
      String(data)
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { id: string }).id),
      IDS,
    )
  })
  await check('import', async () => {
    const { data } = await client.import(
      `{"id":"${IDS[2]}","name":"Ginkgo","tag":"tree"}\n{"id":"9007199254740995","name":"Acer"}\n`,
    )
    const { added, unchanged, refused } = data as Record<string, number>
    expect({ added, unchanged, refused }, { added: 1, unchanged: 1, refused: 0 })
  })
  await check('409', async () => {
    const { status, data } = await client.create({ id: IDS[1], name: 'Quercus' }, false)
    expect([status, (data as { error: number }).error], [409, 40901])
  })
  await check('412', async () => {
    const { status, data } = await client.create({ id: IDS[2], name: 'Ginkgo', tag: 'tree' }, true)
    expect([status, (data as { error: number }).error], [412, 41201])
  })
}

async function check(name: string, run: () => Promise<void>): Promise<void> {
  try {
    await run()
    console.log(`${name}: ok`)
  } catch (error) {
    console.log(`${name}: ${String(error).split('\n')[0]}`)
  }
}

function expect(found: unknown, wanted: unknown): void {
  const [a, b] = [found, wanted].map((value) => JSON.stringify(value))
  if (a !== b) throw new Error(`${a} in place of ${b}`)
}
