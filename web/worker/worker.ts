// The service worker of the page: it opens the page without a network. It keeps the files of one version, and nothing else.

declare const self: ServiceWorkerGlobalScope

/** Names the files as the service serves them, page and headers included; the service replaces it. */
const VERSION = 'PLANTSTORE_VERSION'
/** All files of the page, by their names; the service replaces it. */
const FILES = 'PLANTSTORE_FILES'.split(' ')

const { scope } = self.registration
const PREFIX = `plantstore ${scope} `
const START = new URL('./', scope).href
const FOLDER = new URL('page/', scope).href

self.addEventListener('install', (event) => event.waitUntil(install()))
self.addEventListener('activate', (event) => event.waitUntil(activate()))
self.addEventListener('message', ({ data }) => {
  if (data === 'take over') void self.skipWaiting()
})
self.addEventListener('fetch', (event) => {
  const { method, mode, url } = event.request
  const [address = ''] = url.split(/[?#]/)
  const isStart = mode === 'navigate' && address === START
  if (method === 'GET' && (isStart || address.startsWith(FOLDER))) event.respondWith(answer(event.request, address))
})

async function install(): Promise<void> {
  const cache = await caches.open(PREFIX + VERSION)
  const fetchFresh = async (address: string, type: string) => {
    const response = await fetch(address, { cache: 'no-cache', headers: { Accept: type } })
    if (!response.ok || response.redirected) throw new Error(`${address}: ${response.status}`)
    await cache.put(address, response)
  }
  await fetchFresh(START, 'text/html')
  await Promise.all(FILES.map((name) => fetchFresh(FOLDER + name, '*/*')))
}

async function activate(): Promise<void> {
  for (const name of await caches.keys()) {
    if (name.startsWith(PREFIX) && name !== PREFIX + VERSION) await caches.delete(name)
  }
  await self.clients.claim()
}

async function answer(request: Request, address: string): Promise<Response> {
  const cache = await caches.open(PREFIX + VERSION)
  return (await cache.match(address)) ?? fetch(request)
}

export {}
