import assert from 'node:assert/strict'
import type { NewPlant } from '../../src/domain/plant.ts'
import type { Answer, Sending, Service } from './service.ts'

/** Sends a body to replacePlant: a text or bytes unchanged, anything else as JSON. */
export const put = (service: Service, id: unknown, body: unknown, sending?: Sending): Promise<Answer> =>
  service.sendJson('PUT', `/plants/${id}`, body, sending)

/** Sends a body to updatePlant, in the same way. */
export const patch = (service: Service, id: unknown, body: unknown, { headers, ...sending }: Sending = {}) =>
  service.sendJson('PATCH', `/plants/${id}`, body, {
    ...sending,
    headers: { 'Content-Type': 'application/merge-patch+json', ...headers },
  })

/** Parses the plants of an answer with exact ids. */
export function plantsIn(body: string): NewPlant[] {
  const exact = (key: string, value: unknown, context?: { source?: string }) =>
    key === 'id' ? BigInt(context?.source ?? assert.fail()) : value
  return (JSON.parse(body, exact) as { id: bigint; name: string; tag?: string }[]).map(({ id, name, tag }) => ({
    id,
    name,
    tag,
  }))
}

/** The target of the link to the next page, if there is one. */
export function nextOf(answer: Answer): string | undefined {
  const link = answer.headers['link']
  if (link === undefined) return undefined
  return /^<(\/[^<> ]+)>; rel="next"$/.exec(String(link))?.[1] ?? assert.fail(`not a link: ${link}`)
}

/** Reads all pages from a path on by their links, and checks that none is empty unless it is the only one. */
export async function pagesFrom(service: Service, path: string, onPage?: () => Promise<void>): Promise<Answer[]> {
  const pages: Answer[] = []
  for (let next: string | undefined = path; next !== undefined; ) {
    const page = await service.send('GET', next)
    assert.equal(page.status, 200, `${next}: ${page.body}`)
    pages.push(page)
    assert.ok(pages.length === 1 || page.body !== '[]', 'a page behind the first is not empty')
    await onPage?.()
    next = nextOf(page)
  }
  return pages
}
