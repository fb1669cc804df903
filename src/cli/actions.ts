import { randomUUID } from 'node:crypto'
import { OperatorError, usageError } from '../base/operator-error.ts'
import { counted } from '../base/printable.ts'
import { ACTION_ID, type Action as StoredAction } from '../domain/actions.ts'
import { commandActor } from '../domain/token.ts'
import { type Config, shownStore } from '../settings/config.ts'
import type { Flags } from './command.ts'
import { CommandAudit } from './log.ts'
import { withStore } from './open-store.ts'
import { ask, canAsk, note, printJson, table } from './output.ts'
import { type Service, targetOf } from './service-client.ts'

export interface ActionsFlags extends Flags {
  readonly limit?: number
}

export interface UndoFlags extends Flags {
  readonly yes?: true
  readonly dryRun?: true
}

/** An action with its times as texts of RFC 3339. */
interface Action extends Omit<StoredAction, 'began' | 'ended'> {
  readonly began: string
  readonly ended: string
}

interface UndoReport {
  readonly dryRun: boolean
  readonly restored: number
  readonly left: number
  readonly leftPlants: readonly { readonly id: bigint }[]
  readonly action?: string | undefined
}

/** The actions of a store, or of the store of a service. */
interface Actions {
  list(limit: number): Promise<readonly Action[]>
  get(id: string): Promise<Action | undefined>
  undo(id: string, dryRun: boolean): Promise<UndoReport>
}

const LIMIT = 20
/** Plants that a report names, as in that of the service. */
const MAX_LEFT = 1000

/** Lists what was done together, newest first. */
export async function listActions({ limit = LIMIT, ...flags }: ActionsFlags, config: Config): Promise<void> {
  const found = await withActions(flags, config, (actions) => actions.list(limit))
  if (flags.json) printJson(found)
  else if (found.length === 0) note('there are no actions: imports, and what a program names, are some')
  else process.stdout.write(table([HEAD, ...found.map(rowOf)]))
}

const HEAD = ['ID', 'BEGAN', 'TITLE', 'CREATED', 'UPDATED', 'DELETED', 'TOKEN', 'UNDONE BY']
const rowOf = ({ id, began, title = '', created, updated, deleted, token, undoneBy = '' }: Action): string[] => [
  ...[id, began.slice(0, 19).concat('Z'), title, String(created), String(updated), String(deleted), token, undoneBy],
]

/**
 * Undoes an action, after a question with the counts of a dry run.
 *
 * @throws OperatorError (exit code 2) without `--yes` where nobody can answer
 */
export async function undoAction(id: string, flags: UndoFlags, config: Config): Promise<void> {
  const [yes, dryRun] = [flags.yes === true, flags.dryRun === true]
  if (!yes && !dryRun && !canAsk()) throw usageError('--yes', 'needed to undo an action where no terminal can ask')
  await withActions(flags, config, async (actions) => {
    // Other texts could be another path of a service, such as `..`.
    const action = ACTION_ID.test(id) ? await actions.get(id) : undefined
    if (action === undefined) throw new OperatorError(`there is no action ${id}; "plantstore actions" lists them`)
    const tried = await actions.undo(id, true)
    const what = `${id}${action.title === undefined ? '' : ` (${action.title})`}`
    if (!yes && !dryRun) {
      const question = `Undo ${what}: ${counted(tried.restored, 'plant')} as before, ${tried.left} stay. Go on? [y/N] `
      if (!(await ask(question))) throw new OperatorError('nothing was undone')
    }
    const { leftPlants, ...report } = dryRun ? tried : await actions.undo(id, false)
    if (flags.json) printJson({ ...report, leftPlants: leftPlants.map((left) => String(left.id)) })
    else {
      const begin = dryRun ? 'dry run, nothing was changed' : 'done'
      note(`${begin}: ${counted(report.restored, 'plant')} as before ${what}, ${report.left} left`)
      for (const left of leftPlants) note(`left, because something else has changed it since: the plant ${left.id}`)
      if (report.action !== undefined) note(undoHint(report.action))
    }
    if (report.left > 0) process.exitCode = 1
  })
}

/** How to take an action back. */
export const undoHint = (action: string): string => `To take it back: plantstore undo ${action}`

async function withActions<T>(flags: Flags, config: Config, work: (actions: Actions) => Promise<T>): Promise<T> {
  const target = targetOf(flags, config)
  if (target.kind === 'service') return work(ofService(target.service))
  using audit = new CommandAudit(config.auditLog, [target.address], ACTOR)
  const { quiet = false } = flags
  return await withStore(target.address, { create: false, quiet, hasLog: true }, async ({ actions }) => {
    if (actions === undefined) throw new OperatorError(`the store ${shownStore(target.address)} has no log of changes`)
    return work({
      list: async (limit) => (await actions.list({}, limit)).map(withTimes),
      get: async (id) => {
        const action = await actions.get(id)
        return action && withTimes(action)
      },
      async undo(id, dryRun) {
        const actor = dryRun ? ACTOR : { ...ACTOR, action: { id: randomUUID(), undoes: id } }
        const report = { dryRun, restored: 0, left: 0, action: actor.action?.id }
        const leftPlants: { readonly id: bigint }[] = []
        const walk = async () => {
          for (let from: string | undefined; ; ) {
            const step = await actions.undo(id, from, actor)
            report.restored += step.restored
            report.left += step.left.length
            leftPlants.push(...step.left.slice(0, MAX_LEFT - leftPlants.length))
            if (step.next === undefined) return
            from = step.next
          }
        }
        if (dryRun) await walk()
        else await audit.around('undoAction', () => ({ ...report, action: id, undo: report.action }), 'undone', walk)
        return { ...report, leftPlants }
      },
    })
  })
}

const ACTOR = commandActor('undo')

const withTimes = ({ began, ended, ...action }: StoredAction): Action => ({
  ...action,
  began: new Date(began).toISOString(),
  ended: new Date(ended).toISOString(),
})

const ofService = (service: Service): Actions => ({
  list: (limit) => service.call(async (client) => (await client.listActions({ limit }).page()).items as Action[]),
  get: (id) =>
    service.call((client) =>
      client.getAction(id).then(
        (action) => action as Action,
        (error: unknown) => {
          if ((error as { number?: number }).number === 40402) return undefined
          throw error
        },
      ),
    ),
  undo: (id, dryRun) => service.call((client) => client.undoAction(id, { dryRun })),
})
