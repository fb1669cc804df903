import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import type { Token } from '../../../client/src/index.ts'
import { named } from '../named.tsx'
import { tell } from '../notices.tsx'
import { said } from '../said.ts'
import type { ViewProps } from '../views.ts'
import { NewTokenForm } from './new-token-form.tsx'
import { RevokeDialog } from './revoke-dialog.tsx'

const time = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })

/** Creates, lists and revokes access tokens. */
export function TokensView({ session }: ViewProps): JSX.Element {
  const { client, own } = session
  const tokens = useSignal<readonly Token[]>([])
  const next = useSignal<string | undefined>(undefined)
  const state = useSignal<'reading' | 'read' | 'failed'>('reading')
  const fault = useSignal('')
  const revoking = useSignal<Token | undefined>(undefined)
  const read = async (at?: string) => {
    state.value = 'reading'
    try {
      const page = await client.listTokens({ limit: 100 }).page(at)
      tokens.value = at === undefined ? page.items : [...tokens.value, ...page.items]
      next.value = page.next
      state.value = 'read'
    } catch (error) {
      fault.value = said(error)
      state.value = 'failed'
    }
  }
  useEffect(() => {
    void read()
  }, [])
  const revoke = async ({ id, name }: Token) => {
    revoking.value = undefined
    try {
      await client.revokeToken(id)
      tell(`Revoked ${named(name)}`)
      tokens.value = tokens.value.map((token) =>
        token.id === id ? { ...token, revokedAt: new Date().toISOString() } : token,
      )
    } catch (error) {
      tell(`${named(name)} was not revoked. ${said(error)}`, { isError: true })
    }
  }
  return (
    <>
      <h1>Tokens</h1>
      <NewTokenForm client={client} own={own} onMade={() => void read()} />
      <h2>All tokens</h2>
      {state.value === 'failed' && (
        <p role="alert">
          {fault.value}{' '}
          <button type="button" onClick={() => void read()}>
            Try again
          </button>
        </p>
      )}
      <ul class="tokens" aria-busy={state.value === 'reading'}>
        {tokens.value.map((token) => (
          <TokenItem
            key={token.id}
            token={token}
            isOwn={token.id === own.id}
            onRevoke={() => {
              revoking.value = token
            }}
          />
        ))}
      </ul>
      {next.value !== undefined && (
        <button type="button" onClick={() => void read(next.value)}>
          More tokens
        </button>
      )}
      {revoking.value !== undefined && (
        <RevokeDialog
          token={revoking.value}
          isOwn={revoking.value.id === own.id}
          onRevoke={revoke}
          onClose={() => {
            revoking.value = undefined
          }}
        />
      )}
    </>
  )
}

interface ItemProps {
  readonly token: Token
  readonly isOwn: boolean
  readonly onRevoke: () => void
}

function TokenItem({ token, isOwn, onRevoke }: ItemProps): JSX.Element {
  const { id, name, scopes, createdAt, expiresAt, lastUsedAt, revokedAt } = token
  return (
    <li tabIndex={-1}>
      <div>
        <strong dir="auto">{name}</strong> {isOwn && <span class="note">(you are signed in with it)</span>}
        <div class="note">
          <code>{id}</code> may {scopes.join(', ')}
        </div>
        <div class="note">
          Created {shown(createdAt)}
          {lastUsedAt !== undefined && `, last used ${shown(lastUsedAt)}`}
          {expiresAt !== undefined && `, expires ${shown(expiresAt)}`}
          {revokedAt !== undefined && `, revoked ${shown(revokedAt)}`}
        </div>
      </div>
      {revokedAt === undefined && (
        <button type="button" aria-label={`Revoke ${name} (${id})`} onClick={onRevoke}>
          Revoke
        </button>
      )}
    </li>
  )
}

const shown = (text: string): string => time.format(new Date(text))
