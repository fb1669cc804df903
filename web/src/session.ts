import { signal } from '@preact/signals'
import { type OwnToken, PlantstoreClient, PlantstoreError } from '../../client/src/index.ts'
import { said } from './said.ts'

export type Scope = OwnToken['scopes'][number]

export interface Session {
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

/** The page at /docs reads the same entry, so signing in here signs in there too. */
const KEY = 'plantstore-token'

export const session = signal<SessionState>({ kind: 'checking' })
/** Whether a request waits to be sent again. */
export const isRetrying = signal(false)

const ended: (() => void)[] = []

/** Registers `forget`, which clears data of the person, to run when they sign out. */
export const onSignOut = (forget: () => void): void => {
  ended.push(forget)
}

/** Signs in with the token from the address, from the storage of the tab or from that of the device. */
export async function resume(): Promise<void> {
  takeFromAddress()
  const token = sessionStorage.getItem(KEY) ?? localStorage.getItem(KEY)
  if (token === null) session.value = { kind: 'signed-out', why: '' }
  else await check(token, () => void resume())
}

/** @param remember whether the token stays on this device when the tab is closed */
export async function signIn(token: string, remember: boolean): Promise<void> {
  await check(token, () => void signIn(token, remember))
  if (session.value.kind !== 'signed-in') return
  sessionStorage.setItem(KEY, token)
  if (remember) localStorage.setItem(KEY, token)
}

export function signOut(why = ''): void {
  sessionStorage.removeItem(KEY)
  localStorage.removeItem(KEY)
  for (const forget of ended) forget()
  session.value = { kind: 'signed-out', why }
}

/**
 * Takes the token from a link such as `/#token=ps_…`. Browsers send no fragment to a server. The page removes the token
 * from the address at once, so that neither the history nor a copied address contains it.
 */
export function takeFromAddress(): boolean {
  const token = /^#token=(.+)$/.exec(location.hash)?.[1]
  if (token === undefined) return false
  history.replaceState(null, '', '#/plants')
  sessionStorage.setItem(KEY, token)
  return true
}

/** @param again repeats the attempt if the person asks for that */
async function check(token: string, again: () => void): Promise<void> {
  session.value = { kind: 'checking' }
  const client = clientFor(token)
  try {
    const own = await client.getOwnToken()
    session.value = { kind: 'signed-in', client, own, may: (scope) => own.scopes.includes(scope) }
  } catch (error) {
    const isRefused = error instanceof PlantstoreError && error.status < 429
    session.value = isRefused
      ? { kind: 'signed-out', why: said(error) }
      : { kind: 'unreachable', why: said(error), again }
    if (isRefused) forgetToken()
  }
}

function clientFor(token: string): PlantstoreClient {
  return new PlantstoreClient({
    url: location.origin,
    token,
    timeout: 15_000,
    onRetry: () => {
      isRetrying.value = true
    },
    async fetch(...request) {
      const response = await globalThis.fetch(...request)
      isRetrying.value = false
      if (response.status === 401) expire()
      return response
    },
  })
}

/** Signs out but keeps typed texts, because the same person signs in again. */
function expire(): void {
  if (session.value.kind !== 'signed-in') return
  forgetToken()
  const why = 'The token has expired or was revoked. Sign in again; what you typed is kept.'
  session.value = { kind: 'signed-out', why }
}

function forgetToken(): void {
  sessionStorage.removeItem(KEY)
  localStorage.removeItem(KEY)
}
