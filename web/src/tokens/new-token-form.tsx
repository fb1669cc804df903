import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import type { CreatedToken, OwnToken, PlantstoreClient } from '../../../client/src/index.ts'
import { said } from '../said.ts'
import type { Scope } from '../session.ts'

const MEANINGS: Readonly<Record<Scope, string>> = {
  'plants:read': 'Read, search and export plants',
  'plants:write': 'Add, change, delete and import plants',
  tokens: 'Create, list and revoke tokens',
}

interface FormProps {
  readonly client: PlantstoreClient
  readonly own: OwnToken
  readonly onMade: () => void
}

/** Creates a token with at most the scopes of the token that is signed in. */
export function NewTokenForm({ client, own, onMade }: FormProps): JSX.Element {
  const name = useSignal('')
  const scopes = useSignal<readonly Scope[]>(own.scopes.filter((scope) => scope === 'plants:read'))
  const day = useSignal('')
  const made = useSignal<CreatedToken | undefined>(undefined)
  const fault = useSignal('')
  const isMaking = useSignal(false)
  const make = async () => {
    fault.value = ''
    isMaking.value = true
    try {
      // The end of the day in the time zone of the browser.
      const expiresAt = day.value === '' ? undefined : new Date(`${day.value}T23:59:59.999`).toISOString()
      const wanted = { name: name.value, scopes: scopes.value }
      made.value = await client.createToken(expiresAt === undefined ? wanted : { ...wanted, expiresAt })
      name.value = ''
      onMade()
    } catch (error) {
      fault.value = `Not created. ${said(error)}`
    } finally {
      isMaking.value = false
    }
  }
  return (
    <>
      <form
        class="new-token"
        aria-label="New token"
        onSubmit={(event) => {
          event.preventDefault()
          if (!isMaking.value) void make()
        }}
      >
        <div class="field">
          <label for="token-name">What is the token for?</label>
          <input
            id="token-name"
            required
            dir="auto"
            autocomplete="off"
            value={name.value}
            onInput={(event) => {
              name.value = event.currentTarget.value
            }}
          />
        </div>
        <fieldset>
          <legend>The token may</legend>
          {own.scopes.map((scope) => (
            <label key={scope} class="check">
              <input
                type="checkbox"
                checked={scopes.value.includes(scope)}
                onChange={(event) => {
                  const others = scopes.value.filter((each) => each !== scope)
                  scopes.value = event.currentTarget.checked ? [...others, scope] : others
                }}
              />
              {MEANINGS[scope]}
            </label>
          ))}
        </fieldset>
        <div class="field">
          <label for="token-day">Last day (empty: when your token expires)</label>
          <input
            id="token-day"
            type="date"
            value={day.value}
            onInput={(event) => {
              day.value = event.currentTarget.value
            }}
          />
        </div>
        <button type="submit" class="primary" disabled={scopes.value.length === 0}>
          Create a token
        </button>
        {fault.value !== '' && <p role="alert">{fault.value}</p>}
      </form>
      {made.value !== undefined && <Secret token={made.value} />}
    </>
  )
}

/** Shows the secret of a new token, once. */
function Secret({ token }: { readonly token: CreatedToken }): JSX.Element {
  return (
    <div class="secret" role="status">
      <label for="secret">
        The secret of <bdi>{token.name}</bdi>. Copy it now: it is never shown again.
      </label>
      <input
        id="secret"
        readOnly
        value={token.secret}
        spellcheck={false}
        onFocus={(event) => event.currentTarget.select()}
      />
    </div>
  )
}
