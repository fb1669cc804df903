import type { KeptPlant, StoredPlant } from '../../../../client/src/index.ts'
import { say, sayOf } from '../../language/language.ts'
import { plantOf } from '../../offline/attempt.ts'
import type { Change } from '../../offline/change.ts'
import { submit } from '../../offline/send.ts'
import { waitingFor } from '../../offline/waiting.ts'
import { named } from '../../page/named.ts'
import { tell, tellFailure } from '../../page/notices.tsx'
import { PageError, said } from '../../page/said.ts'
import type { Session } from '../../session/session.ts'
import { changeDraft, type Draft, drafts, dropDraft, isChanged, putDraft, wanted } from '../list/drafts.ts'
import { focusRow } from '../list/grid-keys.ts'
import type { PlantList } from '../list/plant-list.ts'

/** Saves and deletes plants. It never overwrites or deletes a state of a plant that the person has not seen. */
export class PlantChanges {
  readonly #session: Session
  readonly #list: PlantList
  /** Ids of plants that are being deleted. */
  readonly #deleting = new Set<bigint>()

  constructor(session: Session, list: PlantList) {
    this.#session = session
    this.#list = list
  }

  /** Begins an edit, or goes on with one that waits for the service. */
  edit(plant: StoredPlant): void {
    if (drafts.value.has(String(plant.id))) return
    const { base, wanted: texts } = waitingFor(plant.id) ?? {}
    if (base && texts) putDraft({ base: plantOf(plant.id, base), name: texts.name, tag: texts.tag ?? '' })
    else putDraft({ base: plant })
  }

  /** Saves a draft if nobody has changed the plant since the page showed it. Resolves with whether the edit is over. */
  async save(draft: Draft): Promise<boolean> {
    const { id } = draft.base
    if (isChanged(draft) || waitingFor(id) !== undefined) return this.#save(draft, { base: draft.base })
    dropDraft(id)
    return true
  }

  /** Saves the draft over another client's change of the plant. */
  overwrite(draft: Draft, theirs: KeptPlant | null): Promise<boolean> {
    return this.#save(draft, { base: theirs?.plant ?? null })
  }

  /** Discards the draft, which the person can take back, and shows another client's change of the plant. */
  yield({ base, name, tag }: Draft, theirs: KeptPlant | null): void {
    dropDraft(base.id)
    const plant = `${base.id} ${named(name ?? base.name)}`
    const takeBack = () => putDraft({ base: theirs?.plant ?? base, name, tag })
    tell(say('waiting.dropped', { plant }), { action: { label: say('plants.undo'), run: takeBack } })
    if (theirs === null) this.#list.remove(base.id)
    else this.#list.replace(theirs.plant)
  }

  async delete(plant: StoredPlant): Promise<boolean> {
    const { id, name } = plant
    if (this.#deleting.has(id)) return false
    this.#deleting.add(id)
    try {
      const outcome = await submit(this.#session, { id, base: plant, wanted: null })
      // The row says that the deletion waits.
      if (outcome.kind === 'waits') return true
      if (outcome.kind === 'met' && outcome.theirs) {
        this.#list.replace(outcome.theirs.plant)
        tellFailure(sayOf('plants.delete', id), new PageError(say('fault.changed')))
        return false
      }
    } catch (error) {
      tellFailure(sayOf('plants.delete', id), error)
      return false
    } finally {
      this.#deleting.delete(id)
    }
    this.#list.remove(id)
    tell(say('plants.deleted', { id, name: named(name) }), {
      action: { label: say('plants.undo'), run: () => void this.#restore(plant) },
    })
    return true
  }

  async #restore(plant: StoredPlant): Promise<void> {
    const { id, name } = plant
    const failed = (why: string, isTaken: boolean) =>
      tell(say('page.failed', { what: sayOf('deleted.bringBack', `${id} ${named(name)}`), why }), {
        isError: true,
        ...(isTaken ? {} : { action: { label: say('page.tryAgain'), run: () => void this.#restore(plant) } }),
      })
    try {
      const outcome = await submit(this.#session, { id, base: null, wanted: plant })
      if (outcome.kind === 'met') return failed(say('fault.idTaken'), true)
      if (outcome.kind === 'waits') tellKept(`${id} ${named(name)}`)
      else tell(say('plants.isBack', { id, name: named(name) }))
      await this.#list.putBack(plant)
      focusRow(String(id))
    } catch (error) {
      failed(said(error), false)
    }
  }

  /** Runs the work of saving a draft. If it fails, the draft stays. */
  async #save(draft: Draft, { base }: Pick<Change, 'base'>): Promise<boolean> {
    const plant = wanted(draft)
    const { id } = plant
    changeDraft(id, { isSaving: true, fault: '' })
    try {
      const outcome = await submit(this.#session, { id, base, wanted: plant }, { isDecided: base !== draft.base })
      if (outcome.kind === 'stored') return this.#saved(plant, draft)
      // The row says that the change waits.
      if (outcome.kind === 'waits') return this.#end(draft, draft.base)
      changeDraft(id, { isSaving: false, theirs: outcome.theirs })
    } catch (error) {
      changeDraft(id, { isSaving: false, fault: say('page.notSaved', { why: said(error) }) })
    }
    return false
  }

  #saved(plant: StoredPlant, sent: Draft): boolean {
    const isOver = this.#end(sent, plant)
    if (this.#list.has(plant.id)) this.#list.replace(plant)
    else this.#list.putFirst(plant)
    tell(say('plants.saved', { id: plant.id }))
    return isOver
  }

  /** Ends an edit, unless the person has typed on while the service worked. @param base the plant that such an edit changes */
  #end(sent: Draft, base: StoredPlant): boolean {
    const now = drafts.value.get(String(base.id)) ?? sent
    const isWhole = now.name === sent.name && now.tag === sent.tag
    if (isWhole) dropDraft(base.id)
    else changeDraft(base.id, { base, isSaving: false })
    return isWhole
  }
}

/** Says that a change waits which no row shows. */
export const tellKept = (plant: string): void => tell(say('waiting.kept', { plant }))
