import { actionHeaders, undoReportOf, withAction } from './actions.ts'
import { type ChangesQuery, entriesOf, entryOf } from './changes.ts'
import {
  type Action,
  type ChangeEntry,
  type CreatedToken,
  type ExportPlantsQuery,
  type GetHistoryQuery,
  type Health,
  type IdRange,
  type ImportReport,
  type ListActionsQuery,
  type ListChangesQuery,
  type ListDeletedPlantsQuery,
  type ListedPlant,
  type ListPlantsQuery,
  type ListTagsQuery,
  type ListTokensQuery,
  type NewPlant,
  type NewToken,
  type NewWebhook,
  OPERATIONS,
  type Operation,
  type OwnToken,
  type Plant,
  type PlantPatch,
  type ResourceMetadata,
  type StoredPlant,
  type TagCount,
  type Token,
  type TokenOverlap,
  type UndoReport,
  type Webhook,
  type WebhookDelivery,
  type WebhookOverlap,
  type WebhookPatch,
  type WebhookRange,
  type WebhookTest,
  type WebhookWithSecret,
} from './contract.generated.ts'
import { PlantstoreError } from './errors.ts'
import { exactId, int64, parseExact, withId } from './exact-json.ts'
import { batchesOf, emptyReport, type ImportSource, joined, reportOf, textsOf } from './import.ts'
import type { Success } from './judge.ts'
import { linesOf } from './lines.ts'
import { Listing, pageIn, queryOf } from './listing.ts'
import type {
  CallOptions,
  ClientOptions,
  CreateOptions,
  ImportOptions,
  ReportOf,
  UndoOptions,
  WriteOptions,
} from './options.ts'
import { isPatched, isSame, type KeptPlant, plantOf } from './plants.ts'
import { type Call, Transport } from './transport.ts'

const JSON_TYPE = { 'Content-Type': 'application/json' }
const FILE_TYPES = { ndjson: 'application/x-ndjson', csv: 'text/csv' } as const

/** The operations of a Plantstore service, under their names in the contract. */
export class PlantstoreClient {
  readonly #transport: Transport

  /** @throws TypeError if `url` is no address with http:// or https:// */
  constructor(options: ClientOptions) {
    this.#transport = new Transport(options)
  }

  /** Stores a plant if its id is free or belongs to an equal plant. */
  async createPlant(
    { id, name, tag }: NewPlant,
    { mustBeNew = false, signal, ...action }: CreateOptions = {},
  ): Promise<KeptPlant> {
    const headers = { ...JSON_TYPE, ...(mustBeNew ? { 'If-None-Match': '*' } : {}), ...actionHeaders(action) }
    const call = { operation: OPERATIONS.createPlant, headers, body: withId(id, { name, tag }), signal }
    const plant = tag === undefined ? { id, name } : { id, name, tag }
    return this.#transport
      .send(call, (success) => ({ plant, etag: etagOf(success) }))
      .catch((error: unknown) => this.#unlessDone(error, id, signal, (kept) => isSame(kept, plant)))
  }

  async getPlant(id: bigint, { signal }: CallOptions = {}): Promise<KeptPlant> {
    return this.#transport.send({ operation: OPERATIONS.getPlant, id: exactId(id), signal }, keptPlant)
  }

  /** Creates or replaces the plant under this id. */
  async replacePlant(id: bigint, { name, tag }: Plant, options: WriteOptions = {}): Promise<KeptPlant> {
    const call = writeCall(OPERATIONS.replacePlant, id, options, JSON.stringify({ name, tag }))
    return this.#transport
      .send(call, keptPlant)
      .catch((error: unknown) => this.#unlessDone(error, id, options.signal, (kept) => isSame(kept, { name, tag })))
  }

  /** Changes the members in the patch. A tag of null removes the tag. */
  async updatePlant(id: bigint, { name, tag }: PlantPatch, options: WriteOptions = {}): Promise<KeptPlant> {
    const call = writeCall(OPERATIONS.updatePlant, id, options, JSON.stringify({ name, tag }))
    return this.#transport
      .send(call, keptPlant)
      .catch((error: unknown) => this.#unlessDone(error, id, options.signal, (kept) => isPatched(kept, { name, tag })))
  }

  async deletePlant(id: bigint, options: WriteOptions = {}): Promise<void> {
    try {
      await this.#transport.send(writeCall(OPERATIONS.deletePlant, id, options), nothing)
    } catch (error) {
      // An earlier attempt has deleted the plant, and its answer was lost.
      if (!(error instanceof PlantstoreError && error.number === 40402 && error.mayHaveSucceeded)) throw error
    }
  }

  listPlants(query: ListPlantsQuery = {}, options: CallOptions = {}): Listing<ListedPlant> {
    return this.#list(OPERATIONS.listPlants, query, options, plantOf)
  }

  /** Returns the deletions of the plants that are deleted now, as far as the log of changes goes, the newest first. */
  listDeletedPlants(query: ListDeletedPlantsQuery = {}, options: CallOptions = {}): Listing<ChangeEntry> {
    return this.#list(OPERATIONS.listDeletedPlants, query, options, entryOf)
  }

  listTags(query: ListTagsQuery = {}, options: CallOptions = {}): Listing<TagCount> {
    return this.#list(OPERATIONS.listTags, query, options, (json) => json as TagCount)
  }

  /** Yields the plants of one snapshot one by one. */
  async *exportPlants(
    query: Omit<ExportPlantsQuery, 'format'> = {},
    { signal }: CallOptions = {},
  ): AsyncGenerator<StoredPlant, void, undefined> {
    const stream = await this.exportFile({ ...query, format: 'ndjson' }, { signal })
    for await (const line of linesOf(stream)) yield plantOf(parseExact(line))
  }

  /**
   * Returns the plants of one snapshot as a file, which is complete only if the stream ends without an error. The signal
   * ends the stream too.
   */
  async exportFile(query: ExportPlantsQuery = {}, { signal }: CallOptions = {}): Promise<ReadableStream<Uint8Array>> {
    const call = { operation: OPERATIONS.exportPlants, query: queryOf(query), signal }
    return this.#stream(call, /^(text\/csv|application\/x-ndjson)\b/i)
  }

  /**
   * Imports a file, or an iterable of plants. The client sends an iterable in parts, so the number of plants has no
   * limit. If a part fails, the parts before it are stored, and importing all of them again is safe. The client sends a
   * stream once, without a retry; of the browsers, only those on Chromium can send one. `columns` and `ids` are for files.
   * All parts and attempts are one action.
   */
  async importPlants(source: ImportSource, options: ImportOptions = {}): Promise<ReportOf<ImportReport>> {
    const { mode, dryRun = false, duplicates, columns, ids, key, format = 'ndjson', onProgress, signal } = options
    const named = dryRun ? {} : actionHeaders({ ...options, action: options.action ?? randomKey() })
    const send = (body: Blob | string | ReadableStream<Uint8Array>, type: string): Promise<ReportOf<ImportReport>> => {
      const headers = { 'Content-Type': type, ...(key === undefined ? {} : { 'Idempotency-Key': key }), ...named }
      const query = queryOf({ mode, dryRun, duplicates, columns, ids })
      const call = { operation: OPERATIONS.importPlants, query, headers, body, signal, isLong: true }
      return this.#transport.send(call, (success) => withAction(reportOf(json<ImportReport>(success)), success))
    }
    if (typeof source === 'string' || source instanceof Blob || source instanceof ReadableStream)
      return send(source, FILE_TYPES[format])
    // One request for all plants: a dry run stores nothing, so a later request would not see earlier plants.
    if (dryRun) return send(new Blob(await textsOf(source)), FILE_TYPES.ndjson)
    let report: ReportOf<ImportReport> = emptyReport(dryRun)
    let before = 0
    for await (const { ndjson, rows } of batchesOf(source)) {
      const part = await send(ndjson, FILE_TYPES.ndjson)
      report = { ...part, ...joined(report, part, before) }
      before += rows
      onProgress?.(report)
    }
    return report
  }

  /** Returns the changes of one plant, the newest first, also of a deleted one. */
  history(id: bigint, query: GetHistoryQuery = {}, { signal }: CallOptions = {}): Listing<ChangeEntry> {
    const operation = { ...OPERATIONS.getHistory, path: OPERATIONS.getHistory.path.replace('{id}', exactId(id)) }
    return this.#list(operation, query, { signal }, entryOf)
  }

  /** Returns the changes of all plants from a position on, the oldest first, up to the present end of the log. */
  listChanges(
    query: Pick<ListChangesQuery, 'after' | 'limit' | 'action'> = {},
    options: CallOptions = {},
  ): Listing<ChangeEntry> {
    const log = this.#list(OPERATIONS.listChanges, query, options, entryOf)
    // The service names a next page in an empty one too, for later changes.
    return new Listing(queryOf(query), async (at) => {
      const { next, ...page } = await log.page(at)
      return { ...page, next: page.items.length === 0 ? undefined : next }
    })
  }

  /**
   * Yields the changes of all plants as they happen, without an end. Connects again after a lost connection, and goes on
   * after the last entry.
   *
   * @throws PlantstoreError 41001 when the position is older than the log, or of another history: begin with an export
   */
  changes({ tag, tagPrefix, untagged, ...query }: ChangesQuery = {}): AsyncGenerator<ChangeEntry, void, undefined> {
    const headers = { Accept: 'text/event-stream' }
    const open = (position: string | undefined, ending: AbortSignal) => {
      const parameters = queryOf({ after: position, tag, tagPrefix, untagged })
      const call = { operation: OPERATIONS.listChanges, headers, query: parameters, signal: ending }
      return this.#stream(call, /^text\/event-stream\b/i)
    }
    return entriesOf(open, query)
  }

  /** Returns what was done together, such as imports, the newest first. */
  listActions(query: ListActionsQuery = {}, options: CallOptions = {}): Listing<Action> {
    return this.#list(OPERATIONS.listActions, query, options, (json) => json as Action)
  }

  async getAction(id: string, { signal }: CallOptions = {}): Promise<Action> {
    return this.#transport.send({ operation: OPERATIONS.getAction, id, signal }, json<Action>)
  }

  /** Makes plants what they were before an action, as an action of its own; a later call with the same `action` goes on. */
  async undoAction(id: string, { dryRun, signal, ...action }: UndoOptions = {}): Promise<ReportOf<UndoReport>> {
    const headers = { 'Idempotency-Key': randomKey(), ...actionHeaders(action) }
    const call = { operation: OPERATIONS.undoAction, id, query: queryOf({ dryRun }), headers, signal, isLong: true }
    return this.#transport.send(call, (success) => withAction(undoReportOf(json<UndoReport>(success)), success))
  }

  /** Returns a free id. Another client may get the same one. */
  async proposeId({ signal }: CallOptions = {}): Promise<bigint> {
    const { next } = await this.#transport.send({ operation: OPERATIONS.proposeId, signal }, json<{ next: number }>)
    return int64(next)
  }

  /** Reserves consecutive ids, which no other client gets. */
  async reserveIds(count: number, { signal }: CallOptions = {}): Promise<IdRange> {
    const headers = { ...JSON_TYPE, 'Idempotency-Key': randomKey() }
    const call = { operation: OPERATIONS.reserveIds, headers, body: JSON.stringify({ count }), signal }
    const { first, last } = await this.#transport.send(call, json<{ first: number; last: number }>)
    return { first: int64(first), last: int64(last) }
  }

  /** Creates an access token with at most the rights of this client's token. Only the result has its secret. */
  async createToken(token: NewToken, { signal }: CallOptions = {}): Promise<CreatedToken> {
    const headers = { ...JSON_TYPE, 'Idempotency-Key': randomKey() }
    const call = { operation: OPERATIONS.createToken, headers, body: JSON.stringify(token), signal }
    return this.#transport.send(call, json<CreatedToken>)
  }

  listTokens(query: ListTokensQuery = {}, options: CallOptions = {}): Listing<Token> {
    return this.#list(OPERATIONS.listTokens, query, options, (json) => json as Token)
  }

  /** Creates a webhook, which sends each change to its URL. Only the result has the secret that signs. */
  async createWebhook(webhook: NewWebhook, { signal }: CallOptions = {}): Promise<WebhookWithSecret> {
    const headers = { ...JSON_TYPE, 'Idempotency-Key': randomKey() }
    const call = { operation: OPERATIONS.createWebhook, headers, body: JSON.stringify(webhook), signal }
    return this.#transport.send(call, json<WebhookWithSecret>)
  }

  /** Returns all webhooks, the oldest first. */
  async listWebhooks({ signal }: CallOptions = {}): Promise<readonly Webhook[]> {
    return this.#transport.send({ operation: OPERATIONS.listWebhooks, signal }, json<readonly Webhook[]>)
  }

  async getWebhook(id: string, { signal }: CallOptions = {}): Promise<Webhook> {
    return this.#transport.send({ operation: OPERATIONS.getWebhook, id, signal }, json<Webhook>)
  }

  /** Changes the given members; `{state: 'paused'}` holds all events back, null removes the description. */
  async updateWebhook(id: string, patch: WebhookPatch, { signal }: CallOptions = {}): Promise<Webhook> {
    const call = { operation: OPERATIONS.updateWebhook, id, headers: JSON_TYPE, body: JSON.stringify(patch), signal }
    return this.#transport.send(call, json<Webhook>)
  }

  async deleteWebhook(id: string, { signal }: CallOptions = {}): Promise<void> {
    return this.#transport.send({ operation: OPERATIONS.deleteWebhook, id, signal }, nothing)
  }

  /** Sends a message to the receiver now, and returns what came of it. */
  async testWebhook(id: string, { signal }: CallOptions = {}): Promise<WebhookTest> {
    return this.#transport.send({ operation: OPERATIONS.testWebhook, id, signal }, json<WebhookTest>)
  }

  /** Makes a new secret. The one of before signs as well, until the end of the overlap: a day by default. */
  async rotateWebhookSecret(
    id: string,
    overlap: WebhookOverlap = {},
    { signal }: CallOptions = {},
  ): Promise<WebhookWithSecret> {
    const headers = { ...JSON_TYPE, 'Idempotency-Key': randomKey() }
    const call = { operation: OPERATIONS.rotateWebhookSecret, id, headers, body: JSON.stringify(overlap), signal }
    return this.#transport.send(call, json<WebhookWithSecret>)
  }

  /** Delivers the events after a position of the log of changes again. */
  async redeliverWebhook(id: string, range: WebhookRange, { signal }: CallOptions = {}): Promise<Webhook> {
    const call = { operation: OPERATIONS.redeliverWebhook, id, headers: JSON_TYPE, body: JSON.stringify(range), signal }
    return this.#transport.send(call, json<Webhook>)
  }

  /** Returns the last attempts to deliver an event, the newest first: 1,000 at most. */
  async listWebhookDeliveries(id: string, { signal }: CallOptions = {}): Promise<readonly WebhookDelivery[]> {
    const query = '?limit=1000'
    const call = { operation: OPERATIONS.listWebhookDeliveries, id, query, signal }
    return this.#transport.send(call, json<readonly WebhookDelivery[]>)
  }

  /** Returns the token of this client. */
  async getOwnToken({ signal }: CallOptions = {}): Promise<OwnToken> {
    return this.#transport.send({ operation: OPERATIONS.getOwnToken, signal }, json<OwnToken>)
  }

  /** Makes a token with the rights of this one, which works until the end of the overlap: a day by default. */
  async rotateToken(id: string, overlap: TokenOverlap = {}, { signal }: CallOptions = {}): Promise<CreatedToken> {
    const headers = { ...JSON_TYPE, 'Idempotency-Key': randomKey() }
    const call = { operation: OPERATIONS.rotateToken, id, headers, body: JSON.stringify(overlap), signal }
    return this.#transport.send(call, json<CreatedToken>)
  }

  async revokeToken(id: string, { signal }: CallOptions = {}): Promise<void> {
    return this.#transport.send({ operation: OPERATIONS.revokeToken, id, signal }, nothing)
  }

  async getLiveness({ signal }: CallOptions = {}): Promise<Health> {
    return this.#transport.send({ operation: OPERATIONS.getLiveness, signal }, json<Health>)
  }

  async getReadiness({ signal }: CallOptions = {}): Promise<Health> {
    return this.#transport.send({ operation: OPERATIONS.getReadiness, signal }, json<Health>)
  }

  /** Returns the metrics in the text format of Prometheus. */
  async getMetrics({ signal }: CallOptions = {}): Promise<string> {
    return new Response(await this.#stream({ operation: OPERATIONS.getMetrics, signal }, /^text\/plain\b/i)).text()
  }

  /** Returns the contract of the service, an OpenAPI document. */
  async getContract({ signal }: CallOptions = {}): Promise<unknown> {
    return this.#transport.send({ operation: OPERATIONS.getContract, signal }, json<unknown>)
  }

  /** Returns the identity provider of the service (RFC 9728). */
  async getResourceMetadata({ signal }: CallOptions = {}): Promise<ResourceMetadata> {
    return this.#transport.send({ operation: OPERATIONS.getResourceMetadata, signal }, json<ResourceMetadata>)
  }

  /** Resolves with the body of an answer of a media type. The signal of the call ends it too. */
  async #stream(call: Call, type: RegExp): Promise<ReadableStream<Uint8Array>> {
    const stream = await this.#transport.send(
      { ...call, stream: type },
      ({ value }) => value as ReadableStream<Uint8Array>,
    )
    const { signal } = call
    return signal === undefined ? stream : stream.pipeThrough(new TransformStream(), { signal })
  }

  #list<T>(operation: Operation, query: object, { signal }: CallOptions, itemOf: (json: unknown) => T): Listing<T> {
    return new Listing(queryOf(query), (page) =>
      this.#transport.send({ operation, query: page, signal }, (success) => pageIn(success, itemOf)),
    )
  }

  /**
   * Resolves a 412 that an earlier attempt of the same write may have caused: reads the plant, and returns it if it is
   * as that write leaves it.
   *
   * @throws the error of the last attempt otherwise
   */
  async #unlessDone(
    error: unknown,
    id: bigint,
    signal: AbortSignal | undefined,
    isDone: (plant: StoredPlant) => boolean,
  ): Promise<KeptPlant> {
    if (!(error instanceof PlantstoreError && error.number === 41201 && error.mayHaveSucceeded)) throw error
    const kept = await this.getPlant(id, { signal })
    if (!isDone(kept.plant)) throw error
    return kept
  }
}

function writeCall(operation: Operation, id: bigint, options: WriteOptions, body?: string): Call {
  const { ifMatch, ifNoneMatch, signal } = options
  const headers = {
    ...(body === undefined ? {} : JSON_TYPE),
    ...(ifMatch === undefined ? {} : { 'If-Match': ifMatch }),
    ...(ifNoneMatch === undefined ? {} : { 'If-None-Match': ifNoneMatch }),
    ...actionHeaders(options),
  }
  return { operation, id: exactId(id), headers, body, signal }
}

const json = <T>({ value }: Success): T => value as T

const nothing = (): void => {}

const keptPlant = (success: Success): KeptPlant => ({ plant: plantOf(success.value), etag: etagOf(success) })

const etagOf = ({ headers }: Success): string => headers.get('ETag') ?? ''

/** A random Idempotency-Key. Pages that are served without TLS have no crypto.randomUUID. */
const randomKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')
