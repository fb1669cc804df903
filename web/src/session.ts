import { signal } from '@preact/signals'
import { type OwnToken, PlantstoreClient, PlantstoreError } from '../../client/src/index.ts'
import { nameOf } from './actor.ts'
import { answered, giveUp, willRetry } from './connection.ts'
import { say } from './language/language.ts'
import { named } from './named.ts'
import { tell } from './notices.tsx'
import { endRenewal, freshToken, redeem, type SignInAnswer } from './provider.ts'
import { linkTo, route } from './route.ts'
import { isRefusal, isSilence, said } from './said.ts'
import { KEY } from './token-key.ts'

export type Scope = OwnToken['scopes'][number]

export interface Session {
  readonly token: string
  readonly client: PlantstoreClient
  readonly own: OwnToken
  readonly may: (scope: Scope) => boolean
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
/** Whether the session comes from a link, and the person has not decided yet whether the device remembers its token. */
export const isByLink = signal(false)

const ended: (() => void)[] = []

/** Registers `forget`, which clears data of the person, to run when their session ends. */
export const onSignOut = (forget: () => void): void => {
  ended.push(forget)
}

/** Signs in with the token from the storage of the tab, or from that of the device if the first one is refused. */
export async function resume(): Promise<void> {
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
  if (session.value.kind !== 'signed-in') await resume()
  const current = session.value
  if (current.kind === 'signed-in') await offer(token, current)
  else if (current.kind === 'unreachable') session.value = { ...current, again: () => void followLink(token) }
  // While `checking`, a later link has replaced this one.
  else if (current.kind === 'signed-out') await enter(token)
}

async function offer(token: string, { own: mine }: Session): Promise<void> {
  if (isSession(token)) return
  try {
    const own = await clientFor(token).getOwnToken()
    if (session.value.kind === 'signed-in') offered.value = { token, own }
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
  isByLink.value = isSession(token) && localStorage.getItem(KEY) !== token
}

/** Whether this device remembers a token. While `isByLink`, that is another one than the token of the session. */
export const remembersAnother = (): boolean => localStorage.getItem(KEY) !== null

/** Keeps the token of the session on this device when the tab is closed. */
export function remember({ token }: Session): void {
  localStorage.setItem(KEY, token)
  isByLink.value = false
}

export function signOut(): void {
  endRenewal(sessionStorage.getItem(KEY) ?? '')
  sessionStorage.removeItem(KEY)
  localStorage.removeItem(KEY)
  endSession()
  session.value = { kind: 'signed-out', why: '' }
}

function endSession(): void {
  offered.value = undefined
  for (const forget of ended) forget()
}

const isSession = (token: string): boolean => session.value.kind === 'signed-in' && session.value.token === token

/** The number of the last check. An answer to an earlier one comes too late. */
let last = 0

/** @param again repeats the attempt if the person asks for that */
async function check(token: string, again: () => void): Promise<void> {
  last += 1
  const number = last
  isByLink.value = false
  if (/[^\x20-\x7e]/.test(token)) {
    session.value = { kind: 'signed-out', why: say('signIn.badToken') }
    return
  }
  session.value = { kind: 'checking' }
  const client = clientFor(token)
  let state: SessionState
  try {
    const own = await client.getOwnToken()
    state = { kind: 'signed-in', token, client, own, may: (scope) => own.scopes.includes(scope) }
  } catch (error) {
    const why = isRefusal(error, 40301) ? say('signIn.noRights') : said(error)
    state = isRefused(error) ? { kind: 'signed-out', why } : { kind: 'unreachable', why, again }
    if (isRefused(error)) forgetToken(token)
  }
  if (number === last) session.value = state
}

/**
 * Whether the service refuses the token, or lets it do nothing at all: a proxy, or a service that is busy, says nothing
 * about the token.
 */
const isRefused = (error: unknown): boolean =>
  error instanceof PlantstoreError && [40101, 40102, 40103, 40301].includes(error.number)

function clientFor(token: string): PlantstoreClient {
  return new PlantstoreClient({
    url: location.origin,
    token,
    timeout: 15_000,
    onRetry: willRetry,
    onGiveUp: (reason) => (isSilence(reason) ? giveUp() : answered()),
    async fetch(address, request) {
      const headers = new Headers(request?.headers)
      headers.set('Authorization', `Bearer ${await freshToken(token)}`)
      const response = await globalThis.fetch(address, { ...request, headers })
      if (response.status < 500) answered()
      const isRefusal = response.status === 401 && /^Bearer\b/i.test(response.headers.get('WWW-Authenticate') ?? '')
      if (isRefusal && isSession(token)) expire(token)
      return response
    },
  })
}

/** Signs out but keeps typed texts, because the same person signs in again. */
function expire(token: string): void {
  forgetToken(token)
  session.value = { kind: 'signed-out', why: say('signIn.ended') }
}

/** Forgets a refused token wherever it is stored, and no other one. */
function forgetToken(token: string): void {
  const present = endRenewal(token)
  for (const storage of [sessionStorage, localStorage]) {
    if (storage.getItem(KEY) === present) storage.removeItem(KEY)
  }
}
