import type { TestContext } from 'node:test'
import { NO_EXPECTATION } from '../../src/domain/plant.ts'
import { CONFIGURED_TOKEN } from '../../src/domain/token.ts'
import { makeWebhookId, makeWebhookSecret, type Webhook, type WebhookAttempt } from '../../src/domain/webhook.ts'
import type { StoredWebhook, WebhookStore } from '../../src/domain/webhook-store.ts'
import type { ServedStore } from '../../src/http/metrics/service-metrics.ts'
import { readConfig } from '../../src/settings/config.ts'
import { Deliverer, type DelivererOptions } from '../../src/webhooks/deliverer.ts'
import { TESTER } from './actor.ts'
import { logOf } from './change-entries.ts'
import { replacePlant } from './change-plant.ts'
import { cleanUp } from './clean-up.ts'
import { openEngine } from './engine-under-test.ts'
import { until } from './until.ts'

/** That of a service which may deliver to this machine alone. */
export const CONFIG = readConfig({ webhookAllow: 'loopback', token: 'only-for-tests-0123456789' }, {})

/** A store with webhooks, of which a test starts and ends the deliverers. */
export class Hooks {
  readonly t: TestContext
  readonly store: ServedStore

  private constructor(t: TestContext, store: ServedStore) {
    this.t = t
    this.store = store
  }

  static async open(t: TestContext): Promise<Hooks> {
    const under = await openEngine(readConfig({ changesKeep: '30d' }, {}))
    cleanUp(t, () => under.remove())
    return new Hooks(t, under.store)
  }

  /** Creates a webhook. @returns its id */
  async create(url: string, more: Partial<Webhook> = {}): Promise<string> {
    const id = makeWebhookId()
    const now = Date.now()
    const webhook: Webhook = {
      id,
      url,
      types: [],
      tags: [],
      description: undefined,
      body: 'event',
      concurrency: 8,
      createdAt: now,
      creator: CONFIGURED_TOKEN,
      creatorExpiresAt: undefined,
      state: 'active',
      reason: undefined,
      since: now,
      keys: { secret: makeWebhookSecret(), previous: undefined },
      ...more,
    }
    const none = { redelivery: undefined, failingSince: undefined, waitUntil: undefined }
    const progress = { position: await logOf(this.store).end(), held: [], ...none }
    await this.store.webhooks.create(webhook, progress, 100)
    return id
  }

  /** Starts a deliverer. @param faults methods of the store that behave in another way for it */
  deliver(faults: Partial<WebhookStore> = {}, options: Partial<DelivererOptions> = {}): Deliverer {
    const { webhooks } = this.store
    const stores: WebhookStore = {
      create: (...given) => webhooks.create(...given),
      list: (...given) => webhooks.list(...given),
      change: (...given) => webhooks.change(...given),
      delete: (...given) => webhooks.delete(...given),
      attempts: (...given) => webhooks.attempts(...given),
      lease: (...given) => webhooks.lease(...given),
      release: (...given) => webhooks.release(...given),
      save: (...given) => webhooks.save(...given),
      ...faults,
    }
    const deliverer = new Deliverer({
      changes: logOf(this.store),
      webhooks: stores,
      config: CONFIG,
      version: 'test',
      onNotice: () => {},
      ...options,
    })
    deliverer.start()
    cleanUp(this.t, () => deliverer.close())
    return deliverer
  }

  async put(id: number, tag?: string): Promise<void> {
    await replacePlant(this.store, { id: BigInt(id), name: `plant ${id}`, tag }, NO_EXPECTATION, TESTER)
  }

  async stored(id: string): Promise<StoredWebhook> {
    const [found] = await this.store.webhooks.list(id)
    if (found === undefined) throw new Error(`there is no webhook ${id}`)
    return found
  }

  /** Waits until the store has so many attempts of a webhook. @returns them, the newest first */
  async untilStored(id: string, count: number): Promise<readonly WebhookAttempt[]> {
    const attempts = () => this.store.webhooks.attempts(id, 1000)
    await until(async () => (await attempts()).length >= count, `no ${count} attempts are stored`)
    return attempts()
  }
}
