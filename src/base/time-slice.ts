/** Milliseconds that all long work on the event loop may take of one of its rounds. */
const MAX_TURN = 10
/** Milliseconds that a work takes at once, whatever the others took: most works are shorter. */
const SHORT = 1

/** The end of the work of this round, on the clock of performance.now(); undefined before its first work. */
let endOfRound: number | undefined
/** Works that wait for their next turn. One of them continues in each round: eight at once would take eight turns. */
const line: (() => void)[] = []
let isScheduled = false

function nextRound(): void {
  isScheduled = false
  endOfRound = undefined
  line.shift()?.()
  if (line.length > 0) schedule()
}

function schedule(): void {
  if (!isScheduled) setImmediate(nextRound)
  isScheduled = true
}

/** Whether long work must wait for its `nextTurn`. Ask it after each piece of the work. */
export function isTurnOver(): boolean {
  if (endOfRound === undefined) {
    endOfRound = performance.now() + MAX_TURN
    schedule()
  }
  return performance.now() >= endOfRound
}

/** Lets other requests, and other long work, have their turns. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    line.push(resolve)
    schedule()
  })
}

/** Does work for each item, in turns. Returns its results in the order of the items. */
export async function inTurns<Item, Result>(items: readonly Item[], work: (item: Item) => Result): Promise<Result[]> {
  const results: Result[] = []
  const startedAt = performance.now()
  for (const item of items) {
    results.push(work(item))
    if (performance.now() - startedAt >= SHORT && isTurnOver()) await nextTurn()
  }
  return results
}
