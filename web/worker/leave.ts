// Takes the service worker away from browsers that have it, where the service has no page any more.

declare const self: ServiceWorkerGlobalScope

self.addEventListener('install', () => void self.skipWaiting())
self.addEventListener('activate', (event) => event.waitUntil(leave()))

async function leave(): Promise<void> {
  const { scope } = self.registration
  for (const name of await caches.keys()) if (name.startsWith(`plantstore ${scope} `)) await caches.delete(name)
  await self.registration.unregister()
  for (const client of await self.clients.matchAll())
    if (client instanceof WindowClient) await client.navigate(client.url)
}

export {}
