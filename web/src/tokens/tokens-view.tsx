import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import type { Token } from '../../../client/src/index.ts'
import { say, sayOf, timeOf } from '../language/language.ts'
import { sayWith } from '../language/say-with.ts'
import { Button } from '../page/controls.tsx'
import { useFirst } from '../page/first-of.tsx'
import { named } from '../page/named.ts'
import { tell, tellFailure } from '../page/notices.tsx'
import { type Request, useRequest } from '../page/request.ts'
import { Fault } from '../page/sentence.tsx'
import { nameOf } from '../session/actor.ts'
import { PartNote } from '../session/part.tsx'
import type { ViewProps } from '../session/session.ts'
import { created } from './new-token.ts'
import { NewTokenForm } from './new-token-form.tsx'
import { RevokeDialog, RotateDialog } from './questions.tsx'

const DAY = 86_400_000
/** Days before its end, and days without use, from which the page lists a token at the top. */
const [ENDS_SOON, UNUSED] = [7, 90]
/** Tokens that the page shows at once. */
const MOST_SHOWN = 100

interface Read {
  readonly tokens: readonly Token[]
  /** The tokens at the top, with the reason. What the person does to them leaves them there. */
  readonly due: ReadonlyMap<string, () => string>
}

const NOTHING_READ: Read = { tokens: [], due: new Map() }

/** Creates, lists, rotates and revokes access tokens. */
export function TokensView({ session }: ViewProps): JSX.Element {
  const { client, own } = session
  const found = useSignal<Read | undefined>(undefined)
  const reading = useRequest()
  const asked = useSignal<{ readonly token: Token; readonly to: 'rotate' | 'revoke' } | undefined>(undefined)
  const read = () => {
    if (own.part !== undefined) return
    void reading.run(async (signal) => {
      const tokens: Token[] = []
      for await (const token of client.listTokens({ limit: 1000 }, { signal })) tokens.push(token)
      found.value = { tokens, due: dueOf(tokens, Date.now()) }
    })
  }
  useEffect(read, [])
  const change = (id: string, changed: Partial<Token>, added: readonly Token[] = []) => {
    if (found.value === undefined) return
    const tokens = found.value.tokens.map((token) => (token.id === id ? { ...token, ...changed } : token))
    found.value = { ...found.value, tokens: [...tokens, ...added] }
  }
  const revoke = async (token: Token) => {
    asked.value = undefined
    try {
      await client.revokeToken(token.id)
      tell(say('tokens.revoked', { name: named(token.name) }))
      change(token.id, { revokedAt: new Date().toISOString() })
    } catch (error) {
      tellFailure(sayOf('tokens.revoke', named(token.name)), error)
    }
  }
  const rotate = async (old: Token, overlapSeconds: number) => {
    const { id, expiresAt } = old
    asked.value = undefined
    try {
      const token = await client.rotateToken(id, { overlapSeconds })
      const end = new Date(Date.parse(token.createdAt) + overlapSeconds * 1000).toISOString()
      const oldEnd = expiresAt !== undefined && expiresAt < end ? expiresAt : end
      created.value = [{ ...token, replaced: { id, until: oldEnd } }, ...created.value]
      const { secret: _, ...listed } = token
      change(id, { expiresAt: oldEnd }, [listed])
    } catch (error) {
      tellFailure(sayOf('tokens.newSecret', named(old.name)), error)
    }
  }
  const ask = (token: Token, to: 'rotate' | 'revoke') => {
    asked.value = { token, to }
  }
  const onClose = () => {
    asked.value = undefined
  }
  const question = asked.value && { token: asked.value.token, isOwn: asked.value.token.id === own.id, onClose }
  return (
    <>
      <h1>{say('view.tokens')}</h1>
      <div class="beside">
        <div>
          <NewTokenForm client={client} own={own} onMade={read} />
        </div>
        <div>
          <Listed found={found.value} reading={reading} own={own} onAsk={ask} onRetry={read} />
        </div>
      </div>
      {question && asked.value?.to === 'revoke' && (
        <RevokeDialog {...question} isOnly={isOnly(question.token, found.value?.tokens ?? [])} onRevoke={revoke} />
      )}
      {question && asked.value?.to === 'rotate' && <RotateDialog {...question} onRotate={rotate} />}
    </>
  )
}

interface ListedProps {
  /** undefined before the first read. */
  readonly found: Read | undefined
  readonly reading: Request
  readonly own: ViewProps['session']['own']
  readonly onAsk: (token: Token, to: 'rotate' | 'revoke') => void
  readonly onRetry: () => void
}

/** Lists the tokens to look at, and then the others. */
function Listed({ found, reading, own, onAsk, onRetry }: ListedProps): JSX.Element {
  const { tokens, due } = found ?? NOTHING_READ
  const others = tokens.filter(({ id }) => !due.has(id))
  const [shown, more] = useFirst(others, MOST_SHOWN)
  const itemOf = (token: Token) => (
    <TokenItem
      key={token.id}
      token={token}
      why={due.get(token.id)?.()}
      isOwn={token.id === own.id}
      onAsk={(to) => onAsk(token, to)}
    />
  )
  return (
    <>
      {due.size > 0 && (
        <>
          <h2 id="due">{say('tokens.due')}</h2>
          <p>{say('tokens.dueNote', { soon: ENDS_SOON, unused: UNUSED })}</p>
          <ul class="rows tokens" aria-labelledby="due">
            {tokens.filter(({ id }) => due.has(id)).map(itemOf)}
          </ul>
        </>
      )}
      <h2 id="tokens">{say(due.size > 0 ? 'tokens.others' : 'tokens.all')}</h2>
      {own.part !== undefined && <p class="empty">{say('tokens.unlisted')}</p>}
      <Fault text={reading.fault.value} onRetry={onRetry} />
      {found?.tokens.length === 0 && <p class="empty">{say('tokens.none')}</p>}
      <ul class="rows tokens" aria-labelledby="tokens" aria-busy={reading.isBusy.value}>
        {shown.map(itemOf)}
      </ul>
      {more}
    </>
  )
}

/** Whether a token is the only active one that may manage tokens, which the service keeps. */
const isOnly = (token: Token, tokens: readonly Token[]): boolean => {
  const able = tokens.filter(
    (each) => each.part === undefined && each.scopes.includes('tokens') && isActive(each, Date.now()),
  )
  return able.length === 1 && able[0]?.id === token.id
}

/** Whether a newer token has taken the place of this one, so that its end needs nobody. */
const isReplaced = ({ id, name, createdAt }: Token, tokens: readonly Token[]): boolean =>
  tokens.some(
    (each) => each.name === name && each.id !== id && each.createdAt > createdAt && each.revokedAt === undefined,
  )

/** Returns why a person should look at a token, for the active ones that end soon or are not used. */
function dueOf(tokens: readonly Token[], now: number): Map<string, () => string> {
  const due = new Map<string, () => string>()
  for (const token of tokens) {
    if (!isActive(token, now) || isReplaced(token, tokens)) continue
    const { id, createdAt, lastUsedAt, expiresAt } = token
    const left = expiresAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(expiresAt) - now
    const unused = Math.floor((now - Date.parse(lastUsedAt ?? createdAt)) / DAY)
    const reasons = [
      left <= ENDS_SOON * DAY ? [() => endsIn(left)] : [],
      unused >= UNUSED
        ? [() => say(lastUsedAt === undefined ? 'tokens.neverUsed' : 'tokens.notUsed', { days: unused })]
        : [],
    ].flat()
    if (reasons.length > 0) due.set(id, () => reasons.map((reason) => reason()).join('. '))
  }
  return due
}

const endsIn = (left: number): string =>
  left < DAY ? say('tokens.endsToday') : say('tokens.endsIn', { count: Math.floor(left / DAY) })

const isActive = ({ revokedAt, expiresAt }: Token, now: number): boolean =>
  revokedAt === undefined && (expiresAt === undefined || Date.parse(expiresAt) > now)

interface ItemProps {
  readonly token: Token
  /** Why it is at the top. */
  readonly why: string | undefined
  readonly isOwn: boolean
  readonly onAsk: (to: 'rotate' | 'revoke') => void
}

function TokenItem({ token, why, isOwn, onAsk }: ItemProps): JSX.Element {
  const { id, name, scopes, createdAt, expiresAt, lastUsedAt, revokedAt } = token
  return (
    <li tabIndex={-1}>
      <div>
        <strong dir="auto" translate={false}>
          {nameOf(token)}
        </strong>{' '}
        {isOwn && <span class="note">{say('tokens.isOwn')}</span>}
        {why !== undefined && <div>{why}</div>}
        <div class="note">{sayWith('tokens.scopes', { id: <code>{id}</code>, scopes: scopes.join(', ') })}</div>
        <PartNote of={token} />
        <div class="note">
          {say('tokens.createdAt', { time: at(createdAt) })}
          {lastUsedAt !== undefined && say('tokens.usedAt', { time: at(lastUsedAt) })}
          {expiresAt !== undefined && say('tokens.expiresAt', { time: at(expiresAt) })}
          {revokedAt !== undefined && say('tokens.revokedAt', { time: at(revokedAt) })}
        </div>
      </div>
      <div class="actions">
        {isActive(token, Date.now()) && (
          <Button text={say('tokens.newSecret')} of={`${name} (${id})`} onClick={() => onAsk('rotate')} />
        )}
        {revokedAt === undefined && (
          <Button text={say('tokens.revoke')} of={`${name} (${id})`} onClick={() => onAsk('revoke')} />
        )}
      </div>
    </li>
  )
}

const at = (text: string): string => timeOf(text, 'short')
