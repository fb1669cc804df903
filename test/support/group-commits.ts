import { GroupCommit, type GroupCommitOptions } from '../../src/base/group-commit.ts'
import { turns } from './turns.ts'

type Results = readonly (string | Error)[]

/** A commit function under the control of the test, which ends each commit. */
class Commits {
  readonly groups: (readonly string[])[] = []
  readonly #ends: PromiseWithResolvers<Results>[] = []

  readonly commit = (rows: readonly string[]): Promise<Results> => {
    this.groups.push([...rows])
    const end = Promise.withResolvers<Results>()
    this.#ends.push(end)
    return end.promise
  }

  /** Ends the i-th commit with success. The result of each row is its own text, unless the test gives another. */
  async succeed(i: number, results: Results = this.groups[i] ?? []): Promise<void> {
    this.#ends[i]?.resolve(results)
    await turns()
  }

  async fail(i: number, error: Error): Promise<void> {
    this.#ends[i]?.reject(error)
    await turns()
  }
}

/** A group commit in which the weight of a row is its number of characters. */
export function makeGroupCommit(options: Partial<GroupCommitOptions<string>> = {}) {
  const commits = new Commits()
  const weigh = (row: string) => row.length
  const limits = { maxWaiting: 100, maxWeight: 1000, maxGroup: 10, maxInFlight: 1, weigh, ...options }
  return { commits, group: new GroupCommit<string, string>(commits.commit, limits) }
}

/** Collects the results of promises in the order in which they settle. */
export function watch(promises: Record<string, Promise<string>>): string[] {
  const settled: string[] = []
  for (const [name, promise] of Object.entries(promises)) {
    promise.then(
      (result) => settled.push(`${name}: ${result}`),
      (error: Error) => settled.push(`${name}! ${error.message}`),
    )
  }
  return settled
}
