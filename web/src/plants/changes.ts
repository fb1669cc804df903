import type { KeptPlant, PlantstoreClient, StoredPlant } from '../../../client/src/index.ts'
import { say } from '../language/language.ts'
import { named } from '../named.ts'
import { tell } from '../notices.tsx'
import { isRefusal, said } from '../said.ts'
import { changeDraft, type Draft, drafts, dropDraft, isChanged, isSame, putDraft, wanted } from './drafts.ts'
import { focusRow } from './grid-keys.ts'
import type { PlantList } from './plant-list.ts'

/** Saves and deletes plants. It never overwrites or deletes a state of a plant that the person has not seen. */
export class PlantChanges {
  readonly #client: PlantstoreClient
  readonly #list: PlantList
  /** Ids of plants that are being deleted. */
  readonly #deleting = new Set<bigint>()

  constructor(client: PlantstoreClient, list: PlantList) {
    this.#client = client
    this.#list = list
  }

  edit(plant: StoredPlant): void {
    if (!drafts.value.has(String(plant.id))) putDraft({ base: plant })
  }

  /** Saves a draft if nobody has changed the plant since the page showed it. Resolves with whether the edit is over. */
  async save(draft: Draft): Promise<boolean> {
    const { base, name, tag } = draft
    if (!isChanged(draft)) {
      dropDraft(base.id)
      return true
    }
    return this.#trying(base.id, async () => {
      // The list has no entity tags, so this reads the plant again and compares it with the one shown.
      const current = await this.#client.getPlant(base.id)
      // An earlier attempt has saved the draft, but its answer was lost.
      if (isSame(current.plant, wanted(draft))) return this.#saved(current.plant, draft)
      if (!isSame(current.plant, base)) return this.#meet(base.id, current)
      const patch = { name, tag: tag === '' ? null : tag }
      const { plant } = await this.#client.updatePlant(base.id, patch, { ifMatch: current.etag })
      return this.#saved(plant, draft)
    })
  }

  /** Saves the draft over somebody else's change of the plant. */
  async overwrite(draft: Draft, theirs: KeptPlant | null): Promise<boolean> {
    const plant = wanted(draft)
    return this.#trying(plant.id, async () => {
      if (theirs === null) await this.#client.createPlant(plant)
      else await this.#client.replacePlant(plant.id, plant, { ifMatch: theirs.etag })
      return this.#saved(plant, draft)
    })
  }

  /** Discards the draft, and shows somebody else's change of the plant. */
  yield({ base }: Draft, theirs: KeptPlant | null): void {
    dropDraft(base.id)
    if (theirs === null) this.#list.remove(base.id)
    else this.#list.replace(theirs.plant)
  }

  async delete(plant: StoredPlant): Promise<boolean> {
    const { id, name } = plant
    if (this.#deleting.has(id)) return false
    this.#deleting.add(id)
    try {
      const current = await this.#client.getPlant(id)
      if (!isSame(current.plant, plant)) {
        this.#list.replace(current.plant)
        tell(say('plants.deletedAfterChange', { id }), { isError: true })
        return false
      }
      await this.#client.deletePlant(id, { ifMatch: current.etag })
    } catch (error) {
      if (!isRefusal(error, 40402)) {
        tell(say('plants.notDeleted', { id, why: said(error) }), { isError: true })
        return false
      }
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
    try {
      await this.#client.createPlant(plant)
      tell(say('plants.isBack', { id: plant.id, name: named(plant.name) }))
      await this.#list.putBack(plant)
      focusRow(String(plant.id))
    } catch (error) {
      const isTaken = isRefusal(error, 40901)
      const why = isTaken ? say('plants.idTakenNow') : said(error)
      tell(say('plants.notBack', { id: plant.id, name: named(plant.name), why }), {
        isError: true,
        ...(isTaken ? {} : { action: { label: say('page.tryAgain'), run: () => void this.#restore(plant) } }),
      })
    }
  }

  #saved(plant: StoredPlant, sent: Draft): boolean {
    const now = drafts.value.get(String(plant.id)) ?? sent
    const isWhole = now.name === sent.name && now.tag === sent.tag
    if (isWhole) dropDraft(plant.id)
    // Text typed while the service worked becomes an edit of the stored plant.
    else changeDraft(plant.id, { base: plant, isSaving: false })
    if (this.#list.has(plant.id)) this.#list.replace(plant)
    else this.#list.putFirst(plant)
    tell(say('plants.saved', { id: plant.id }))
    return isWhole
  }

  #meet(id: bigint, theirs: KeptPlant | null): boolean {
    changeDraft(id, { isSaving: false, theirs })
    return false
  }

  /** Runs the work of saving a draft. If it fails, the draft stays. */
  async #trying(id: bigint, work: () => Promise<boolean>): Promise<boolean> {
    changeDraft(id, { isSaving: true, fault: '' })
    try {
      return await work()
    } catch (error) {
      if (isRefusal(error, 41201) || isRefusal(error, 40901)) return this.#again(id)
      if (isRefusal(error, 40402)) return this.#meet(id, null)
      changeDraft(id, { isSaving: false, fault: say('plants.notSaved', { why: said(error) }) })
      return false
    }
  }

  /** Shows the conflict with a write that came between reading and writing the plant. */
  #again(id: bigint): Promise<boolean> {
    return this.#trying(id, async () => this.#meet(id, await this.#client.getPlant(id)))
  }
}
