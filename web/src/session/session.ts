import { effect, signal } from '@preact/signals'
import { type OwnToken, PlantstoreClient, PlantstoreError } from '../../../client/src/index.ts'
import { say } from '../language/language.ts'
import { answered, connection, giveUp, untilAway, willRetry } from '../page/connection.ts'
import { factOf } from '../page/fact.ts'
import { named } from '../page/named.ts'
import { tell } from '../page/notices.tsx'
import { linkTo, route } from '../page/route.ts'
import { isRefusal, isSilence, said } from '../page/said.ts'
import { SERVICE } from '../page/service.ts'
import { forgetStored, ownStored, storedAs } from '../page/stored.ts'
import { nameOf } from './actor.ts'
import { endRenewal, freshToken, redeem, type SignInAnswer } from './provider.ts'
import { KEY } from './token-key.ts'

/** Where the page keeps whose token it is. */
const OWN = storedAs('plantstore-own')

export type Scope = OwnToken['scopes'][number]
/**
 * `more`: all that a reader has beyond the public view, such as exports and live changes. `log`: what of it the service
 * reads from its log of changes, where it keeps one.
 */
export type Right = Scope | 'more' | 'log'

/** Whether the service shows plants to people who have no token. */
export const hasPublicView = factOf('public-view') !== undefined
/** The token of a visitor of the public view, whose requests have none. */
const NONE = ''

export interface Session {
  readonly token: string
  readonly client: PlantstoreClient
  readonly own: OwnToken
  readonly may: (right: Right) => boolean
  /** Whether the service has said since its last silence whose token it is, and which store it has. */
  readonly isConfirmed: boolean
}

/** What a view of the page gets. */
export interface ViewProps {
  readonly session: Session
}

export type SessionState =
  | { readonly kind: 'signed-out'; readonly why: string }
  | { readonly kind: 'checking' }
  /** The service did not answer, so the token is neither accepted nor refused. */
  | { readonly kind: 'unreachable'; readonly why: string; readonly again: () => void }
  | ({ readonly kind: 'signed-in' } & Session)

export const session = signal<SessionState>({ kind: 'checking' })
/** The good token of a link that would replace the session, until the person has decided. */
export const offered = signal<Pick<Session, 'token' | 'own'> | undefined>(undefined)
/** While the session comes from a link whose token the device does not remember: whether the page still asks for that. */
export const byLink = signal<'asked' | 'later' | undefined>(undefined)

const ended: (() => void)[] = []

/** Registers `forget`, which clears data of the person, to run when their session ends. */
export const onSignOut = (forget: () => void): void => {
  ended.push(forget)
}

/** Signs in with a token that the browser keeps. Shows the public view where it keeps none. */
export async function resume(): Promise<void> {
  await signInKept()
  if (hasPublicView && session.value.kind === 'signed-out' && session.value.why === '') await visit()
}

/** Shows what the service shows without a token. */
export const visit = (): Promise<void> => check(NONE, () => void visit())

export const isVisitor = ({ token }: Pick<Session, 'token'>): boolean => token === NONE

/** Shows the form to sign in. */
export const leaveVisit = (): void => {
  session.value = { kind: 'signed-out', why: '' }
}

/** Signs in with the token from the storage of the tab, or from that of the device if the first one is refused. */
async function signInKept(): Promise<void> {
  const kept = [...new Set([sessionStorage, localStorage].flatMap((storage) => storage.getItem(KEY) ?? []))]
  session.value = { kind: 'signed-out', why: '' }
  for (const token of kept) {
    if (session.value.kind === 'signed-out') await check(token, () => void resume())
  }
  const [, second] = kept
  if (second !== undefined && isSession(second)) tell(say('signIn.tabRefused'))
}

/** @param remember whether the token stays on this device when the tab is closed */
export async function signIn(token: string, remember: boolean): Promise<void> {
  await check(token, () => void signIn(token, remember))
  if (!isSession(token)) return
  sessionStorage.setItem(KEY, token)
  if (remember) localStorage.setItem(KEY, token)
  keepOwn()
}

/** Signs in with the answer of the identity provider. Only this tab keeps its tokens. */
export async function signInWith(answer: SignInAnswer): Promise<void> {
  session.value = { kind: 'checking' }
  try {
    await signIn(await redeem(answer), false)
  } catch (error) {
    session.value = { kind: 'signed-out', why: said(error) }
  }
}

/**
 * Takes the token from a link such as `/#token=ps_…`. Browsers send no fragment to a server. The page removes the token
 * from the address at once, so that neither the history nor a copied address contains it.
 */
export function takeFromAddress(): string | undefined {
  const token = /^#token=(.*)$/.exec(location.hash)?.[1]
  if (token === undefined) return undefined
  const { view, query } = route.value
  history.replaceState(null, '', linkTo(view, query))
  return token === '' ? undefined : token
}

/** Signs in with the token of a link. If there is a session, the link replaces it only if the person agrees. */
export async function followLink(token: string): Promise<void> {
  if (isSession(token)) return
  if (session.value.kind !== 'signed-in') await signInKept()
  const current = session.value
  if (current.kind === 'signed-in' && !isVisitor(current)) await offer(token, current)
  else if (current.kind === 'unreachable') session.value = { ...current, again: () => void followLink(token) }
  // While `checking`, a later link has replaced this one.
  else if (current.kind !== 'checking') await enter(token)
}

async function offer(token: string, { own: mine }: Session): Promise<void> {
  if (isSession(token)) return
  try {
    const own = await clientFor(token).getOwnToken()
    if (session.value.kind === 'signed-in' && !isVisitor(session.value)) offered.value = { token, own }
    else await enter(token)
  } catch (error) {
    tell(say('link.failed', { name: named(nameOf(mine)), why: said(error) }), {
      isError: true,
      ...(isRefused(error) ? {} : { action: { label: say('page.tryAgain'), run: () => void followLink(token) } }),
    })
  }
}

/** Replaces the session in this tab by that of the link. The device remembers what it has remembered. */
export async function acceptOffer({ token }: Pick<Session, 'token'>): Promise<void> {
  endSession()
  await enter(token)
}

async function enter(token: string): Promise<void> {
  // From here on, a reload tries again: the address no longer has the token.
  sessionStorage.setItem(KEY, token)
  await check(token, () => void enter(token))
  if (isSession(token) && localStorage.getItem(KEY) !== token) byLink.value = 'asked'
}

/** Whether this device remembers a token. While `byLink` is set, that is another one than the token of the session. */
export const remembersAnother = (): boolean => localStorage.getItem(KEY) !== null

/** Whether this device remembers the token of the session. */
export const remembersSession = (): boolean =>
  session.value.kind === 'signed-in' && localStorage.getItem(KEY) === session.value.token

/** Keeps the token of the session on this device when the tab is closed. */
export function remember({ token }: Session): void {
  localStorage.setItem(KEY, token)
  keepOwn()
  byLink.value = undefined
}

/** Asks no more whether the device remembers the token. */
export function leaveForLater(): void {
  if (byLink.value === 'asked') byLink.value = 'later'
}

export function signOut(): void {
  endRenewal(sessionStorage.getItem(KEY) ?? '')
  for (const storage of [sessionStorage, localStorage]) {
    storage.removeItem(KEY)
    storage.removeItem(OWN)
  }
  endSession()
  session.value = { kind: 'signed-out', why: '' }
  if (hasPublicView) void visit()
}

function endSession(): void {
  offered.value = undefined
  for (const forget of ended) forget()
  forgetStored('sign-out')
}

const isSession = (token: string): boolean => session.value.kind === 'signed-in' && session.value.token === token

/** The number of the last check. An answer to an earlier one comes too late. */
let last = 0

/** @param again repeats the attempt if the person asks for that */
async function check(token: string, again: () => void): Promise<void> {
  last += 1
  const number = last
  byLink.value = undefined
  if (/[^\x20-\x7e]/.test(token)) {
    session.value = { kind: 'signed-out', why: say('signIn.badToken') }
    return
  }
  session.value = { kind: 'checking' }
  const client = clientFor(token)
  let state: SessionState
  const signedIn = (own: OwnToken, isConfirmed: boolean): SessionState => ({
    kind: 'signed-in',
    token,
    client,
    own,
    may: mayBy(token, own),
    isConfirmed,
  })
  const known = ownOf(token)
  try {
    const asked = client.getOwnToken().then((own) => signedIn(own, true))
    const away = known && untilAway().then(() => signedIn(known, false))
    state = await (away === undefined ? asked : Promise.race([asked, away]))
  } catch (error) {
    const why = isRefusal(error, 40301) ? say('signIn.noRights') : said(error)
    state = isRefused(error) ? { kind: 'signed-out', why } : { kind: 'unreachable', why, again }
    if (isRefused(error)) forgetToken(token)
  }
  if (number !== last) return
  session.value = state
  keepOwn()
}

const mayBy =
  (token: string, { scopes, store }: OwnToken): Session['may'] =>
  (right) => {
    if (right !== 'more' && right !== 'log') return scopes.includes(right)
    return token !== NONE && scopes.includes('plants:read') && (right === 'more' || store !== undefined)
  }

/** Keeps beside the token whose it is, so that the page opens without the service, and forgets what others have left. */
function keepOwn(): void {
  const { value: current } = session
  // A visitor keeps nothing here, and leaves what others do.
  if (current.kind !== 'signed-in' || isVisitor(current)) return
  const remembered = localStorage.getItem(KEY)
  ownStored(current.own.id, remembered !== null && remembered !== current.token)
  const text = JSON.stringify({ token: current.token, own: current.own })
  for (const storage of [sessionStorage, localStorage]) {
    if (storage.getItem(KEY) === current.token) storage.setItem(OWN, text)
  }
}

/** Whose a token was when the service answered last. */
function ownOf(token: string): OwnToken | undefined {
  for (const storage of [sessionStorage, localStorage]) {
    const kept = JSON.parse(storage.getItem(OWN) ?? '{}') as { readonly token?: string; readonly own?: OwnToken }
    if (kept.token === token) return kept.own
  }
  return undefined
}

/** Asks once more whose the token is when the service answers again: meanwhile it may have another store. */
export function followOwn(): void {
  effect(() => {
    const { value: current } = session
    if (current.kind !== 'signed-in') return
    if (connection.value === 'lost' && current.isConfirmed) session.value = { ...current, isConfirmed: false }
    if (connection.value === 'good' && !current.isConfirmed) void confirm(current)
  })
}

async function confirm(asking: Session): Promise<void> {
  try {
    const own = await asking.client.getOwnToken()
    const { value: current } = session
    if (current.kind !== 'signed-in' || current.token !== asking.token) return
    session.value = { ...current, own, may: mayBy(asking.token, own), isConfirmed: true }
    keepOwn()
  } catch {
    // A refused token ends the session; what does not answer is asked again when it does.
  }
}

/**
 * Whether the service refuses the token, or lets it do nothing at all: a proxy, or a service that is busy, says nothing
 * about the token.
 */
const isRefused = (error: unknown): boolean =>
  error instanceof PlantstoreError && [40101, 40102, 40103, 40301].includes(error.number)

/** Asks a service that was lost for an answer. A network may let the one pass that needs no token, and hold up others. */
export async function probe(): Promise<void> {
  await new PlantstoreClient({ url: SERVICE, attempts: 1, timeout: 7000, fetch: revalidating }).getReadiness()
  if (session.value.kind === 'signed-in') await session.value.client.getOwnToken()
}

function clientFor(token: string): PlantstoreClient {
  return new PlantstoreClient({
    url: SERVICE,
    ...(token === NONE ? {} : { token }),
    timeout: 15_000,
    onRetry: willRetry,
    onGiveUp: (reason) => (isSilence(reason) ? giveUp(reason) : answered()),
    onAnswer: (refusal) => {
      if (refusal === undefined || refusal.status < 500) answered()
      if (refusal?.status === 401 && isSession(token)) expire(token)
    },
    async fetch(address, request) {
      const headers = new Headers(request?.headers)
      if (token !== NONE) headers.set('Authorization', `Bearer ${await freshToken(token)}`)
      return revalidating(address, { ...request, headers })
    },
  })
}

/** A network may have let the browser keep its own answer. */
const revalidating: typeof globalThis.fetch = (address, request) =>
  globalThis.fetch(address, { ...request, cache: 'no-cache' })

/** Signs out but keeps typed texts, because the same person signs in again. */
function expire(token: string): void {
  forgetToken(token)
  session.value = { kind: 'signed-out', why: say('signIn.ended') }
}

/** Forgets a refused token wherever it is stored, and no other one. */
function forgetToken(token: string): void {
  const wasAccepted = isSession(token) || ownOf(token) !== undefined
  const present = endRenewal(token)
  for (const storage of [sessionStorage, localStorage]) {
    if (storage.getItem(KEY) !== present) continue
    storage.removeItem(KEY)
    storage.removeItem(OWN)
  }
  // A mistyped token says nothing of the person whose things are here.
  if (wasAccepted) forgetStored('refusal')
}
