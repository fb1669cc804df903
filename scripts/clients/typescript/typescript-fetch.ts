import { ACCEPT, ADDRESS, call, type Result, TOKEN } from './calls.ts'
import { Configuration, PlantsApi, ResponseError } from './client/index.ts'

const api = new PlantsApi(new Configuration({ basePath: ADDRESS, accessToken: TOKEN, headers: ACCEPT }))

async function resultOf(answer: Promise<{ raw: Response; value(): Promise<unknown> }>): Promise<Result> {
  try {
    const { raw, value } = await answer.then((found) => ({ raw: found.raw, value: found.value.bind(found) }))
    return { status: raw.status, data: await value() }
  } catch (error) {
    if (!(error instanceof ResponseError)) throw error
    return { status: error.response.status, data: await error.response.json() }
  }
}

await call({
  create: (newPlant, onlyNew) => resultOf(api.createPlantRaw({ newPlant, ...(onlyNew ? { ifNoneMatch: '*' } : {}) })),
  read: (id) => resultOf(api.getPlantRaw({ id })),
  list: () => resultOf(api.listPlantsRaw({})),
  replace: (id, plantReplacement) => resultOf(api.replacePlantRaw({ id, plantReplacement })),
  export: () => resultOf(api.exportPlantsRaw({})),
  import: (body) => resultOf(api.importPlantsRaw({ body })),
})
