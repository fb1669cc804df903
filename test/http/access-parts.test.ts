import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { SCOPES, type Token } from '../../src/domain/token.ts'
import type { OperationParameters } from '../../src/http/request/operations.generated.ts'
import type { Operation } from '../../src/http/request/operations.ts'
import { makeThings, refusalOf, rowOf, sendAll, stateOf, type Things } from '../support/access.ts'
import { contract } from '../support/conforms.ts'
import { Issuer } from '../support/issuer.ts'
import { errorOf, withService } from '../support/service.ts'
import { LOCAL } from '../support/webhooks.ts'

/** The part of tokens and of the public view, and a tag in it and beside it. */
const PART = ['bed/']
const [IN, BESIDE] = ['bed/1', 'shed']

/** The tags of the plant 1, and of what is written. Where a plant is means nothing to a token without a part. */
const PLACES = {
  any: { is: 'anywhere, without a part', stored: IN, written: IN },
  in: { is: 'in the part', stored: IN, written: IN },
  out: { is: 'outside of it', stored: BESIDE, written: BESIDE },
  leaving: { is: 'taken out of it', stored: IN, written: BESIDE },
} as const
type Place = keyof typeof PLACES

/**
 * What a token with all scopes and a part gets: the status, or the number of the refusal, where the plant 1 is in its
 * part, and outside of it. The type check fails for an operation without a row.
 */
type InParts = Readonly<Record<keyof OperationParameters, readonly [] | readonly [within: number, outside: number]>>
/** As a token without a part. */
const SAME = [] as const
const IN_PARTS: InParts = {
  listPlants: SAME,
  listDeletedPlants: SAME,
  createPlant: [200, 40303],
  importPlants: SAME,
  exportPlants: SAME,
  getPlant: [200, 40402],
  replacePlant: [200, 40303],
  updatePlant: [200, 40402],
  deletePlant: [204, 40402],
  getHistory: SAME,
  listChanges: SAME,
  listActions: SAME,
  getAction: [200, 40402],
  undoAction: [200, 40402],
  listTags: SAME,
  proposeId: SAME,
  reserveIds: SAME,
  listTokens: [40303, 40303],
  createToken: SAME,
  getOwnToken: SAME,
  revokeToken: [40302, 40302],
  rotateToken: [40302, 40302],
  listWebhooks: SAME,
  createWebhook: SAME,
  getWebhook: [40402, 40402],
  deleteWebhook: [40402, 40402],
  updateWebhook: [40402, 40402],
  testWebhook: [40402, 40402],
  rotateWebhookSecret: [40402, 40402],
  redeliverWebhook: [40402, 40402],
  listWebhookDeliveries: [40402, 40402],
  getLiveness: SAME,
  getReadiness: SAME,
  getMetrics: [40303, 40303],
  getStart: SAME,
  getPageFile: SAME,
  getContract: SAME,
  getResourceMetadata: SAME,
  getDocs: SAME,
  getDocsFile: SAME,
}
/** What it gets for a write that would take the plant out of the part. */
const LEAVING: Partial<InParts> = {
  createPlant: [40303, 40303],
  replacePlant: [40303, 40303],
  updatePlant: [40303, 40303],
}

/** The scopes and the part of a token; undefined: the request has none, on a service with a public view. */
type Sender = Pick<Token, 'scopes' | 'part'> | undefined

/** Every set of scopes that a token can have, with and without a part. */
const SENDERS: readonly Sender[] = [
  undefined,
  ...Array.from({ length: 2 ** SCOPES.length - 1 }, (_, i) =>
    SCOPES.filter((_scope, bit) => ((i + 1) >> bit) & 1),
  ).flatMap((scopes) => [{ scopes }, { scopes, part: PART }]),
]
const VISITOR = { scopes: ['plants:read'], part: PART } as const

/** Returns the status, or the number of the refusal, that a sender gets. */
function expectedOf(sender: Sender, operation: Operation, place: Place): number {
  if (sender === undefined && operation.scopes !== undefined && !operation.isPublic) return 40101
  const { scopes, part } = sender ?? VISITOR
  const refusal = refusalOf({ name: '', authorization: null, gives: scopes }, operation)
  if (refusal !== undefined) return refusal
  const id = operation.id as keyof OperationParameters
  const [within, outside] = (place === 'leaving' ? LEAVING[id] : undefined) ?? IN_PARTS[id]
  return (part === undefined ? undefined : place === 'out' ? outside : within) ?? rowOf(operation).status
}

suite('every operation with every set of scopes, with a part and without a token', () => {
  for (const place of ['any', 'in', 'out', 'leaving'] as const satisfies readonly Place[]) {
    const { is, stored, written } = PLACES[place]
    test(`answers as the sender and the place of the plant say: ${is}`, async (t) => {
      const { settings } = await Issuer.start(t)
      const bounds = { public: PART.join(), publicLimit: Number.POSITIVE_INFINITY, maxImports: '100' }
      const service = await withService(t, { ...settings, ...LOCAL, ...bounds })
      const senders = SENDERS.filter(
        (sender) => (place === 'any') === (sender !== undefined && sender.part === undefined),
      )
      const issued = await Promise.all(
        senders.map(async (sender) => {
          const secret = sender && (await service.issueToken(sender.scopes, undefined, sender.part)).secret
          return { sender, authorization: secret === undefined ? null : `Bearer ${secret}` }
        }),
      )
      const send = async (operation: Operation, { sender, authorization }: (typeof issued)[number], things: Things) => {
        const credential = { name: '', authorization, gives: SCOPES }
        for (const answer of await sendAll(service, operation, credential, things, written)) {
          const got = answer.status < 400 ? answer.status : errorOf(answer)
          const about = `${operation.id}, ${place}, ${JSON.stringify(sender ?? 'no token')}: ${answer.body}`
          assert.equal(got, expectedOf(sender, operation, place), about)
        }
      }
      for (const operation of contract.operations) {
        const isRefused = ({ sender }: (typeof issued)[number]) => expectedOf(sender, operation, place) > 999
        let things = await makeThings(service, stored)
        const before = (await stateOf(service)).slice(0, -1)
        await Promise.all(issued.filter(isRefused).map((each) => send(operation, each, things)))
        assert.deepEqual((await stateOf(service)).slice(0, -1), before, `${operation.id} changed something, ${place}`)
        for (const each of issued.filter((one) => !isRefused(one))) {
          await send(operation, each, things)
          if (operation.method !== 'GET') things = await makeThings(service, stored, { operation, things })
        }
      }
    })
  }
})
