import { stripTypeScriptTypes } from 'node:module'

/** A module of a user of the package: every kind of call, with ids beyond 2^53. */
export const PROGRAM = `
export async function tour(client: PlantstoreClient): Promise<string[]> {
  const id: bigint = 9007199254740993n
  const { etag } = await client.createPlant({ id, name: 'Käse 🌱', tag: 'x' })
  const refused = await client.replacePlant(id, { name: 'y' }, { ifMatch: '"other"' }).catch((error: unknown) => error)
  const number = refused instanceof PlantstoreError ? refused.number : undefined
  const texts = [etag === '' ? 'none' : 'tagged', String(number)]
  await client.importPlants([{ id: id + 1n, name: 'b' }, { id: id + 2n, name: 'c' }])
  for await (const page of client.listPlants({ limit: 2 }).pages()) texts.push(page.map((plant) => plant.id).join())
  for await (const plant of client.exportPlants({ sort: '-id' })) texts.push(plant.id + plant.name)
  const file = new Response(await client.exportFile({ format: 'csv', q: 'b' }))
  texts.push((await file.text()).trimEnd())
  const { secret } = await client.createToken({ name: 'x', scopes: ['plants:read'] })
  texts.push(secret.slice(0, 3))
  return texts
}`
/** The result of the program on an empty store. */
export const TOUR = [
  'tagged',
  '41201',
  '9007199254740993,9007199254740994',
  '9007199254740995',
  '9007199254740995c',
  '9007199254740994b',
  '9007199254740993Käse 🌱',
  'id,name,tag\r\n9007199254740994,b,',
  'ps_',
]

/** The program in JavaScript, with the client imported from `specifier`. */
export const tourFrom = (specifier: string): string =>
  stripTypeScriptTypes(`import { type PlantstoreClient, PlantstoreError } from '${specifier}'\n${PROGRAM}`)
