import { ACCEPT, ADDRESS, call, TOKEN } from './calls.ts'
import { createPlant, exportPlants, getPlant, importPlants, listPlants, replacePlant } from './client/client.ts'

const plain = globalThis.fetch
// Orval's client asks for paths; an address needs its option baseUrl, or this.
globalThis.fetch = (path, options) => plain(`${ADDRESS}${path}`, options)
const options = { headers: { ...ACCEPT, Authorization: `Bearer ${TOKEN}` } }

await call({
  create: (plant, onlyNew) =>
    createPlant(plant, { headers: { ...options.headers, ...(onlyNew ? { 'If-None-Match': '*' } : {}) } }),
  read: (id) => getPlant(id, options),
  list: () => listPlants(undefined, options),
  replace: (id, plant) => replacePlant(id, plant, options),
  export: () => exportPlants(undefined, options),
  import: (file) => importPlants(file, undefined, options),
})
