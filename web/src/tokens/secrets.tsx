import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useRef } from 'preact/hooks'
import type { CreatedToken } from '../../../client/src/index.ts'
import { PhoneAddress } from '../labels/choose-sheet.tsx'
import { pathOf, QUIET, qrCodeOf } from '../labels/code.ts'
import { isLoopback, linkWith } from '../labels/options.ts'
import { created } from './new-token.ts'

/** Shows the secret of each new token until the person confirms that they have copied it. */
export function Secrets(): JSX.Element {
  return (
    <>
      <div role="status" tabIndex={-1}>
        {created.value.map((token) => (
          <Secret key={token.id} token={token} />
        ))}
      </div>
      {created.value.length > 0 && <PhoneAddress purpose="The code of a new token opens the page there." />}
    </>
  )
}

function Secret({ token: { id, name, secret } }: { readonly token: CreatedToken }): JSX.Element {
  const field = useRef<HTMLInputElement>(null)
  const said = useSignal('')
  const copy = (text: string, what: string) => (event: Event) => {
    const isCopied = field.current !== null && copyFrom(field.current, text)
    if (event.currentTarget instanceof HTMLElement) event.currentTarget.focus()
    said.value = isCopied ? `${what} is copied.` : 'This browser does not copy. Select the secret and copy it yourself.'
  }
  return (
    <div class="secret">
      <label for={`secret-${id}`}>
        The secret of <bdi>{name}</bdi>. Copy it now: it is not shown again.
      </label>
      <input
        id={`secret-${id}`}
        ref={field}
        readOnly
        value={secret}
        spellcheck={false}
        onFocus={(event) => event.currentTarget.select()}
      />
      <div class="fields">
        <button type="button" aria-label={`Copy: ${name}`} onClick={copy(secret, 'The secret')}>
          Copy
        </button>
        <button
          type="button"
          aria-label={`Copy a link that signs in: ${name}`}
          onClick={copy(linkWith(secret), 'The link')}
        >
          Copy a link that signs in
        </button>
        <span>{said.value}</span>
      </div>
      {isLoopback.value ? (
        <p class="note">A code that signs a phone in needs the address below.</p>
      ) : (
        <SignInCode name={name} link={linkWith(secret)} />
      )}
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

/** A code that signs a phone in. */
function SignInCode({ name, link }: { readonly name: string; readonly link: string }): JSX.Element {
  const code = qrCodeOf(link)
  const side = code.size + 2 * QUIET
  return (
    <figure>
      <svg class="code" role="img" aria-label={`Code that signs in as ${name}`} viewBox={`0 0 ${side} ${side}`}>
        <path d={pathOf(code)} transform={`translate(${QUIET} ${QUIET})`} />
      </svg>
      <figcaption>
        To sign in on a phone, scan this code with its camera. Whoever scans it may do what the token may.
      </figcaption>
    </figure>
  )
}

/** Copies a text in place of the selected one: a page without TLS has no `navigator.clipboard`. @returns whether it did */
function copyFrom(field: HTMLInputElement, text: string): boolean {
  const replace = (event: ClipboardEvent) => {
    event.clipboardData?.setData('text/plain', text)
    event.preventDefault()
  }
  addEventListener('copy', replace)
  field.focus()
  field.select()
  try {
    return document.execCommand('copy')
  } finally {
    removeEventListener('copy', replace)
  }
}
