// The service worker of the page: it opens the page without a network. It keeps the files of one version, and nothing else.

declare const self: ServiceWorkerGlobalScope

/** Names the files as the service serves them, page and headers included; the service replaces it. */
const VERSION = 'PLANTSTORE_VERSION'
/** All files of the page, as `name:tag:` with their entity tags; the service replaces it. */
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
  const keep = async (file: string) => {
    const [name = '', tag = ''] = file.split(':')
    const [address, type] = name === 'index.html' ? [START, 'text/html'] : [FOLDER + name, '*/*']
    const response = await fetch(address, { cache: 'no-cache', headers: { Accept: type } })
    // During an upgrade, an instance of another version may answer, and any program may in a network that asks for a
    // sign-in. The browser installs this one later then.
    const isOwn = response.ok && !response.redirected && response.headers.get('ETag')?.includes(tag) === true
    if (!isOwn) throw new Error(`${address}: ${response.status}`)
    await cache.put(address, response)
  }
  await Promise.all(FILES.map(keep))
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
