import { useSignal } from '@preact/signals'
import type { ComponentChildren, JSX } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { pathOf, QUIET, qrCodeOf } from '../codes/qr-code.ts'
import { isLoopback, linkWith, PhoneAddress } from '../codes/service-address.tsx'
import { say, timeOf } from '../language/language.ts'
import { sayWith } from '../language/say-with.ts'
import { Button } from '../page/controls.tsx'
import { type Created, created } from './new-token.ts'

/** Shows the secret of each new token until the person confirms that they have copied it. */
export function Secrets(): JSX.Element {
  return (
    <>
      <div role="status" tabIndex={-1}>
        {created.value.map((token) => (
          <Secret key={token.id} token={token} />
        ))}
      </div>
      {created.value.length > 0 && <PhoneAddress purpose={say('tokens.phonePurpose')} />}
    </>
  )
}

function Secret({ token: { id, name, secret, replaced } }: { readonly token: Created }): JSX.Element {
  const field = useRef<HTMLInputElement>(null)
  const isAlone = created.value.every((token) => token.id === id || token.name !== name)
  const title = (
    <>
      <bdi translate={false}>{name}</bdi>
      {!isAlone && (
        <>
          {' '}
          (<code>{id}</code>)
        </>
      )}
    </>
  )
  const said = useSignal('')
  useLayoutEffect(() => {
    // The button for a new secret may be far below.
    if (replaced !== undefined) field.current?.focus()
  }, [])
  const copy = (text: string) => (event: Event) => {
    const isCopied = field.current !== null && copyFrom(field.current, text)
    if (event.currentTarget instanceof HTMLElement) event.currentTarget.focus()
    said.value = isCopied ? say('tokens.isCopied') : say('tokens.cannotCopy')
  }
  return (
    <div class="secret">
      <label for={`secret-${id}`}>{sayWith('tokens.secretOf', { name: title })}</label>
      <input
        id={`secret-${id}`}
        ref={field}
        readOnly
        value={secret}
        spellcheck={false}
        onFocus={(event) => event.currentTarget.select()}
      />
      {replaced !== undefined && <p>{endOf(replaced)}</p>}
      <div class="fields">
        <Button text={say('tokens.copy')} of={name} onClick={copy(secret)} />
        <Button text={say('tokens.copyLink')} of={name} onClick={copy(linkWith(secret))} />
        <span>{said.value}</span>
      </div>
      {isLoopback.value ? (
        <p class="note">{say('tokens.codeNeedsAddress')}</p>
      ) : (
        <SignInCode name={name} link={linkWith(secret)} />
      )}
      <Button
        text={say('tokens.copied')}
        of={name}
        onClick={() => (created.value = created.value.filter((token) => token.id !== id))}
      />
    </div>
  )
}

function endOf({ id, until }: NonNullable<Created['replaced']>): ComponentChildren {
  const code = <code>{id}</code>
  if (Date.parse(until) <= Date.now()) return sayWith('tokens.oldOver', { id: code })
  return sayWith('tokens.oldUntil', { id: code, time: timeOf(until, 'short') })
}

/** A code that signs a phone in. */
function SignInCode({ name, link }: { readonly name: string; readonly link: string }): JSX.Element {
  const code = qrCodeOf(link)
  const side = code.size + 2 * QUIET
  return (
    <figure>
      <svg class="code" role="img" aria-label={say('tokens.codeOf', { name })} viewBox={`0 0 ${side} ${side}`}>
        <path d={pathOf(code.runs)} transform={`translate(${QUIET} ${QUIET})`} />
      </svg>
      <figcaption>{say('tokens.codeNote')}</figcaption>
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
