import { availableParallelism } from 'node:os'
import {
  countCommit,
  GroupCommit,
  type GroupCommitOptions,
  newWriteCommits,
  type WriteStats,
} from '../../base/group-commit.ts'
import type { UndoStep } from '../../domain/actions.ts'
import type { AppError } from '../../domain/errors.ts'
import {
  type ChangeOutcome,
  type CreateResult,
  createResult,
  type ImportedPlant,
  type ImportMode,
  type ImportResult,
  importResult,
  type NewPlant,
  type PlantChange,
  type PutOutcome,
} from '../../domain/plant.ts'
import type { Actor } from '../../domain/token.ts'
import { appErrorOf, isBusy, isFull } from '../errors.ts'
import { indexWork, MAX_PLANT_WORK } from '../indexed.ts'
import { columnsOf, type Statement } from '../rows.ts'
import type { SearchIndex } from '../search-index/search-index.ts'
import { ThreadClient } from '../worker/client.ts'
import { errorOf, type Remote } from '../worker/protocol.ts'
import { type ChangeRequest, type ChangeResponse, type Put, type PutResponse, SqliteWriter } from './writer.ts'

/**
 * With two groups in flight, a machine with two cores makes 8% more creates a second. A machine with one core makes 8%
 * fewer: the writer runs while the event loop waits, so two groups are only smaller ones.
 */
const GROUPS_IN_FLIGHT = availableParallelism() > 1 ? 2 : 1

/**
 * Groups concurrent writes of plants into one commit. Before, a write waits while the search index has too much work of
 * its actor, so that it delays no other actor's.
 */
export class WriteQueue implements WriteStats {
  readonly commits = newWriteCommits()
  readonly #writer: AdaptiveWriter
  readonly #index: SearchIndex
  readonly #creates: GroupCommit<Put & Charged, CreateResult>
  readonly #changes: GroupCommit<ChangeRequest & Charged, ChangeOutcome>

  constructor(
    writer: AdaptiveWriter,
    index: SearchIndex,
    bounds: Pick<GroupCommitOptions<never>, 'maxWaiting' | 'maxGroup' | 'maxDelay'>,
  ) {
    this.#writer = writer
    this.#index = index
    const options = { ...bounds, maxInFlight: GROUPS_IN_FLIGHT, actorOf: ({ actor }: Charged) => actor }
    const { create, change } = this.commits
    this.#creates = new GroupCommit(this.#commitCreates.bind(this), { ...options, stats: create })
    this.#changes = new GroupCommit(this.#commitChanges.bind(this), { ...options, stats: change })
  }

  create(plant: NewPlant, mustBeNew: boolean, { id: actor, action, part }: Actor): Promise<CreateResult> {
    const put: Put & Charged = { plant, mode: mustBeNew ? 'new' : 'add', actor, action, part, work: indexWork(plant) }
    return this.#submit(this.#creates, put)
  }

  change(change: PlantChange, { id: actor, action, part }: Actor): Promise<ChangeOutcome> {
    return this.#submit(this.#changes, { change, actor, action, part, work: workOfChange(change) })
  }

  async import(plants: readonly ImportedPlant[], mode: ImportMode, author: Actor): Promise<ImportResult[]> {
    const { id: actor, action, part } = author
    // A row of a delete may have the id alone.
    const works =
      mode === 'delete'
        ? await this.#writer.thread.worksOf(new BigInt64Array(plants.map(({ id }) => id)))
        : plants.map(indexWork)
    const rows = works.map((work) => ({ actor, work }))
    await this.#index.admit(actor, sum(rows), true)
    const commit = () => this.#writer.thread.importPlants(columnsOf(plants), mode, { actor, action, part })
    const responses = await this.#commit(rows, () => countCommit(this.commits.import, plants.length, commit), workOfPut)
    return responses.map((response, i) => {
      const outcome = outcomeOf(response)
      return typeof outcome === 'string' ? importResult(outcome, plants[i]?.id ?? 0n) : outcome
    })
  }

  /** Makes one step of an undo. Only its commit knows the work of its plants, so it is charged as an import of UNDO_WORK. */
  async undo(undone: string, from: string | undefined, { id: actor, action, part }: Actor): Promise<UndoStep> {
    await this.#index.admit(actor, UNDO_WORK, true)
    let [work, changes] = [0, 0]
    try {
      const done = await this.#writer.thread.undoAction(undone, from, { actor, action, part })
      ;({ work, changes } = done)
      return done.step
    } finally {
      this.#index.wrote(actor, UNDO_WORK, work, changes)
    }
  }

  get queues(): WriteStats['queues'] {
    return [this.#creates, this.#changes]
  }

  /** Refuses new writes, and those that wait for the search index. Resolves after the others. */
  async close(): Promise<void> {
    const closed = Promise.all([this.#creates.close(), this.#changes.close()])
    this.#index.beginAll()
    await closed
  }

  #submit<Row extends Charged, Result>(queue: GroupCommit<Row, Result>, row: Row): Promise<Result> {
    const submit = () => {
      const before = queue.rows.used
      const result = queue.submit(row)
      // A commit ends the write of each row in it, and there is none for a row that the queue has refused.
      if (queue.rows.used === before) this.#index.wrote(row.actor, row.work, 0, 0)
      return result
    }
    const admitted = this.#index.admit(row.actor, row.work)
    return admitted === undefined ? submit() : admitted.then(submit)
  }

  async #commitCreates(puts: readonly (Put & Charged)[]): Promise<(CreateResult | Error)[]> {
    const responses = await this.#commit(puts, () => this.#writer.createPlants(puts), workOfPut)
    return responses.map((response, i) => {
      const outcome = outcomeOf(response)
      return typeof outcome === 'string' ? createResult(outcome, puts[i]?.plant.id ?? 0n) : outcome
    })
  }

  async #commitChanges(requests: readonly (ChangeRequest & Charged)[]): Promise<(ChangeOutcome | Error)[]> {
    const responses = await this.#commit(requests, () => this.#writer.thread.changePlants(requests), workOfChanged)
    return responses.map((response) => {
      if ('failure' in response) return errorOf(response)
      return response.result === 'deleted' ? { result: 'deleted' } : response
    })
  }

  /** Runs a commit, and ends the writes in it for the index, once for each actor. */
  async #commit<Response>(
    rows: readonly Charged[],
    commit: () => Promise<readonly Response[]>,
    workAfter: (response: Response, row: Charged) => number,
  ): Promise<readonly Response[]> {
    let responses: readonly Response[] = []
    try {
      responses = await commit()
      return responses
    } finally {
      const actors = new Map<string, { charged: number; work: number; changes: number }>()
      rows.forEach((row, i) => {
        const response = responses[i]
        const work = response === undefined ? 0 : workAfter(response, row)
        const all = actors.get(row.actor) ?? { charged: 0, work: 0, changes: 0 }
        all.charged += row.work
        all.work += work
        if (work > 0) all.changes++
        actors.set(row.actor, all)
      })
      for (const [actor, { charged, work, changes }] of actors) this.#index.wrote(actor, charged, work, changes)
    }
  }
}

/** The work of 250 plants of the usual length. */
const UNDO_WORK = 16 * 2 ** 10

/** A write with the work for which `IndexThrottle.admit` charges its actor. */
interface Charged {
  readonly actor: string
  readonly work: number
}

function workOfPut(response: PutResponse, { work }: Charged): number {
  if (typeof response === 'object') return 'work' in response ? response.work : 0
  return response === 'created' || response === 'updated' ? work : 0
}

function outcomeOf(response: PutResponse): PutOutcome | AppError {
  if (typeof response === 'string') return response
  return 'work' in response ? response.result : errorOf(response)
}

/** Only the commit knows the work of an update or a delete, so it is charged as for the largest plant until then. */
const workOfChange = (change: PlantChange): number =>
  change.kind === 'replace' ? indexWork(change.plant) : MAX_PLANT_WORK

/** A patch of one member makes the index take the whole plant again. */
const workOfChanged = (response: ChangeResponse, { work }: Charged): number => {
  if ('failure' in response) return 0
  if (response.result !== 'deleted') return indexWork(response.plant)
  return 'work' in response ? response.work : work
}

const sum = (rows: readonly Charged[]): number => rows.reduce((all, { work }) => all + work, 0)

/** Milliseconds. A slower commit counts as slow: it probably waited for the disk, and not only for the processor. */
const QUICK = 4
/**
 * A leaky bucket counts slow commits: each adds SLOW_POINTS, and each quick one removes one point. It fills when more
 * than one commit in ten is slow. At SLOW_LIMIT groups go to the thread, and after that three slow commits suffice.
 */
const SLOW_POINTS = 10
const SLOW_LIMIT = 100
/** Groups then go to the thread for this many times the duration of the last slow commit, and at most for MAX_PAUSE. */
const PAUSE_SHARE = 500
const MAX_PAUSE = 60_000
/** Milliseconds for which groups go to the thread after the disk was full. */
const FULL_PAUSE = 1000
/** Maximum number of creates that the event loop commits at once: half a millisecond of work. */
const MAX_LOOP_ROWS = 128
/** Commits between two checks of the WAL: while a long read holds it, each check makes the thread checkpoint. */
const WAL_CHECK_INTERVAL = 16

interface WriterEvents {
  /** Called when the writer can't continue; only a restart of the process helps. */
  readonly onFatal: (error: Error) => void
  /** Called when the store has no space left for a write. */
  readonly onFull?: () => void
}

/**
 * Commits small groups of creates on the event loop while the disk is quick, and does everything else in a thread.
 *
 * A message to a thread and back costs more than a commit on a quick disk, and a commit on a slow disk delays every
 * read. docs/decisions/0015-writer-placement.md has the measurements.
 */
export class AdaptiveWriter {
  readonly #path: string
  readonly #client: ThreadClient<SqliteWriter>
  readonly #onFatal: (error: Error) => void
  readonly #now: () => number
  /** The connection of the event loop. Its first group opens it. */
  #loopWriter: SqliteWriter | undefined
  #threadUntil = 0
  #points = 0
  #sinceWalCheck = 0

  /** @param now milliseconds */
  constructor(path: string, { onFatal, onFull }: WriterEvents, now: () => number = () => performance.now()) {
    this.#path = path
    this.#onFatal = onFatal
    this.#now = now
    this.#client = new ThreadClient('writer', path, {
      onFatal: (error) => this.#fail(error),
      onFull,
      // The outcome of unanswered calls is unknown.
      onEnd: (cause, unanswered) => unanswered > 0 && this.#fail(cause),
    })
  }

  /** Makes all other writes, with the errors of `createPlants`. */
  get thread(): Remote<SqliteWriter> {
    return this.#client.remote
  }

  /** Resolves after the commit. @throws AppError 50301 when the outcome can't be known, 50304 when there is no space */
  async createPlants(puts: readonly Put[]): Promise<PutResponse[]> {
    const onLoop = puts.length > MAX_LOOP_ROWS ? undefined : this.#onLoop((writer) => writer.createPlants(puts))
    return onLoop ?? this.thread.createPlants(puts)
  }

  /** Runs a few short statements in one transaction. Returns the numbers of changed rows. */
  async run(statements: readonly Statement[]): Promise<number[]> {
    return this.#onLoop((writer) => writer.run(statements)) ?? this.thread.run(statements)
  }

  /** Closes the database after all earlier calls. */
  async close(): Promise<void> {
    this.#loopWriter?.close()
    await this.#client.close()
  }

  /** The place where a small group would commit now. A group must not overtake earlier calls to the thread. */
  get commitsOn(): 'event loop' | 'thread' {
    return this.#client.unanswered === 0 && this.#now() >= this.#threadUntil ? 'event loop' : 'thread'
  }

  /**
   * @returns undefined while the thread writes or the disk is slow, and while another process writes or the disk is
   * full: only the thread may wait, and free space
   */
  #onLoop<T>(write: (writer: SqliteWriter) => T): T | undefined {
    if (this.commitsOn === 'thread') return undefined
    const startedAt = this.#now()
    let outcomes: T
    try {
      this.#loopWriter ??= new SqliteWriter(this.#path, { forEventLoop: true })
      outcomes = write(this.#loopWriter)
    } catch (error) {
      if (isFull(error)) this.#threadUntil = this.#now() + FULL_PAUSE
      if (isFull(error) || isBusy(error)) return undefined
      throw appErrorOf(error, (fatal) => this.#fail(fatal))
    }
    this.#countDuration(this.#now() - startedAt)
    if (++this.#sinceWalCheck >= WAL_CHECK_INTERVAL) this.#checkWal(this.#loopWriter)
    return outcomes
  }

  #countDuration(duration: number): void {
    this.#points = Math.max(0, this.#points + (duration > QUICK ? SLOW_POINTS : -1))
    if (this.#points < SLOW_LIMIT) return
    this.#points = SLOW_LIMIT - 3 * SLOW_POINTS
    this.#threadUntil = this.#now() + Math.min(PAUSE_SHARE * duration, MAX_PAUSE)
  }

  /** Has the thread checkpoint a long WAL, which takes tens of milliseconds. Groups queue behind the checkpoint. */
  #checkWal(writer: SqliteWriter): void {
    this.#sinceWalCheck = 0
    try {
      // The client reports a fatal fault by onFatal. After any other fault, a later check tries again.
      if (writer.isWalLong()) this.thread.checkpoint().catch(() => {})
    } catch {
      // The group is committed already. The next group reports the fault.
    }
  }

  /** Stops both connections for good: after a failed fsync, a later fsync that succeeds proves nothing. */
  #fail(error: Error): void {
    this.#client.refuse(error)
    this.#threadUntil = Number.POSITIVE_INFINITY
    this.#onFatal(error)
  }
}
