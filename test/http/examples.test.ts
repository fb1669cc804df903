import assert from 'node:assert/strict'
import { resolve } from '../../scripts/contract-source.ts'
import { contract } from '../support/conforms.ts'
import { errorOf } from '../support/service.ts'
import { onService } from '../support/service-tests.ts'

interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly example?: string | number | boolean | readonly string[]
}
interface Media {
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>
}

/** A filled-in import of the contract into a program such as Postman sends all of them, with every parameter at once. */
onService('no request made of the examples of an operation is refused as invalid', async (service) => {
  const plant = { id: 1, name: 'Monstera deliciosa', tag: 'houseplant' }
  let answered = 0
  for (const [path, item] of Object.entries(contract.document.paths)) {
    for (const [method, { operationId = '', parameters = [], requestBody }] of Object.entries(item)) {
      await service.create(plant)
      const found = parameters.map((parameter) => resolve<Parameter>(contract.document, parameter as Parameter))
      const at = (place: Parameter['in']) =>
        found
          .filter((parameter) => parameter.in === place)
          .flatMap(({ name, example }) => [example].flat().map((value) => [name, String(value)] as const))
      for (const { name, example } of found) assert.notEqual(example, undefined, `${operationId}: ${name}`)
      const filled = at('path').reduce((sofar, [name, value]) => sofar.replace(`{${name}}`, value), path)
      const [type, media] = (Object.entries(requestBody?.content ?? {}) as [string, Media][]).at(-1) ?? []
      const [example] = Object.values(media?.examples ?? {})
      const body = typeof example?.value === 'string' ? example.value : JSON.stringify(example?.value)
      const answer = await service.send(
        method.toUpperCase(),
        `${filled}?${new URLSearchParams(at('query').map(([...pair]) => pair))}`,
        {
          headers: { ...Object.fromEntries(at('header')), ...(type === undefined ? {} : { 'Content-Type': type }) },
          body: type === undefined ? undefined : (body ?? ''),
        },
      )
      // What they name need not be there, and an action is made once.
      const isGood = answer.status < 400 || [404, 410, 412].includes(answer.status) || errorOf(answer) === 40907
      assert.ok(isGood, `${operationId}: ${answer.status} ${answer.body.slice(0, 300)}`)
      if (answer.status < 400) answered++
      if (path === '/plants' && method === 'get') assert.deepEqual(answer.json, [plant])
      if (path === '/tags') assert.deepEqual(answer.json, [{ tag: 'houseplant', plants: 1 }])
    }
  }
  assert.ok(answered > 20, `${answered} requests succeed`)
})
