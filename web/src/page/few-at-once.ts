/** Requests at once. Browsers allow six connections to a service, and the table needs some of them. */
const AT_ONCE = 3

/** Does the work of each item, a few at once, in their order. Rejects with the first error. */
export async function fewAtOnce<Item>(items: Iterable<Item>, work: (item: Item) => Promise<void>): Promise<void> {
  const rest = [...items].values()
  const next = async () => {
    for (const item of rest) await work(item)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, next))
}
