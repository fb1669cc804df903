import type { JSX } from 'preact'
import type { CreatedToken } from '../../../client/src/index.ts'
import { created } from './new-token.ts'

/** Shows the secret of each new token until the person confirms that they have copied it. */
export function Secrets(): JSX.Element {
  return (
    <div role="status" tabIndex={-1}>
      {created.value.map((token) => (
        <Secret key={token.id} token={token} />
      ))}
    </div>
  )
}

function Secret({ token: { id, name, secret } }: { readonly token: CreatedToken }): JSX.Element {
  return (
    <div class="secret">
      <label for={`secret-${id}`}>
        The secret of <bdi>{name}</bdi>. Copy it now: it is not shown again.
      </label>
      <input
        id={`secret-${id}`}
        readOnly
        value={secret}
        spellcheck={false}
        onFocus={(event) => event.currentTarget.select()}
      />
      <button
        type="button"
        aria-label={`I have copied it: ${name}`}
        onClick={() => {
          created.value = created.value.filter((token) => token.id !== id)
        }}
      >
        I have copied it
      </button>
    </div>
  )
}
