import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BARE, Running, SHIPPED } from './contender.ts'
import { fill } from './fill.ts'
import { type Effort, type Measured, plot, sideBySide, verdict } from './measure.ts'

/** Plants of a small store, for comparison. */
const SMALL = 1000

/** Compares reads and searches with the bare server, and creates with a small store, for each size of the store. */
export async function measureSizes(sizes: readonly number[], { rounds, seconds }: Effort): Promise<void> {
  const bare = await Running.start(BARE, undefined, SMALL)
  const stores: Running[] = []
  try {
    for (const count of [SMALL, ...sizes]) {
      const store = join(mkdtempSync(join(tmpdir(), 'plantstore-bench-')), 'plants.db')
      fill(store, count)
      stores.push(await Running.start({ ...SHIPPED, name: `${count.toLocaleString('en')} plants` }, store, count))
    }
    const gets = await sideBySide([bare, ...stores], { connections: 64, seconds, work: 'get' }, { rounds })
    console.log(plot('One plant by id, 64 connections', gets))
    verdict('one plant', worst(gets), 0.85)
    const pages = await sideBySide([bare, ...stores], { connections: 64, seconds, work: 'page' }, { rounds })
    console.log(plot('The first page of 50, 64 connections, against one plant of the bare server', pages))
    verdict('a page', worst(pages), 1 / 3)
    const anyPages = await sideBySide([bare, ...stores], { connections: 64, seconds, work: 'any page' }, { rounds })
    console.log(plot('A page of 50 from any plant on, which is never asked for twice', anyPages))
    const searches = await sideBySide(stores, { connections: 1, seconds, work: 'search' }, { rounds })
    console.log(plot('50 plants found by two words, 1 connection; p99 is what counts', searches))

    const byName = await sideBySide(stores, { connections: 1, seconds, work: 'search by name' }, { rounds })
    console.log(plot('50 plants found by two words, sorted by name, 1 connection; p99 is what counts', byName))
    const oneWord = await sideBySide(stores, { connections: 1, seconds, work: 'word by name' }, { rounds })
    console.log(plot('50 plants found by a frequent second word, sorted by name, 1 connection; p99 counts', oneWord))

    const ascending = await sideBySide(stores, { connections: 64, seconds, work: 'create' }, { rounds })
    console.log(plot('Creates, ids ascending, 64 connections', ascending))
    verdict('size', worst(ascending), 0.9)
    const random = await sideBySide(stores, { connections: 64, seconds, work: 'create at random' }, { rounds })
    console.log(plot('Creates, ids at random, 64 connections', random))
    for (const one of stores)
      console.log(`  ${one.contender.name}: ${one.memory()?.peak.toFixed(0) ?? '?'} MB resident at most`)
  } finally {
    for (const one of [bare, ...stores]) await one.stop()
  }
}

/** Returns the contender with the lowest ratio, except the first, which is the reference. */
const worst = (measured: readonly Measured[]): Measured | undefined =>
  measured.slice(1).toSorted((a, b) => a.ratio - b.ratio)[0]
