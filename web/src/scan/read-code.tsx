import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useRef } from 'preact/hooks'
import { accept, type Code, codeIn, codeTyped } from '../codes/label-address.ts'
import { say } from '../language/language.ts'
import { sayWith } from '../language/say-with.ts'
import { Button, submitting } from '../page/controls.tsx'
import { focusMain } from '../page/focus.ts'
import { Camera } from './camera-view.tsx'

interface ReadProps {
  /** Called with the id of each label that is read or typed. */
  readonly onLabel: (id: bigint) => void
  /** Whether the camera is on. */
  readonly hasCamera: boolean
  /** What the page does with an id that is typed. */
  readonly action: string
}

/** The most characters of a foreign code that the page shows. */
const SHOWN = 300

/** Reads labels with the camera, from the keys of a hand scanner, or from ids that a person types. */
export function ReadCode({ onLabel, hasCamera, action }: ReadProps): JSX.Element {
  const foreign = useSignal<Exclude<Code, { kind: 'label' }> | undefined>(undefined)
  const typed = useSignal('')
  const field = useRef<HTMLInputElement>(null)
  const take = (code: Code) => {
    foreign.value = code.kind === 'label' ? undefined : code
    // The beep of a phone: people look at the plants meanwhile. Browsers refuse it before the first touch, and complain.
    if (navigator.userActivation.hasBeenActive) navigator.vibrate?.(code.kind === 'label' ? 60 : [60, 60, 60])
    if (code.kind === 'label') onLabel(code.id)
  }
  return (
    <div class="read-code">
      {hasCamera && <Camera onCode={(text) => take(codeIn(text))} />}
      {foreign.value !== undefined && (
        <Foreign
          code={foreign.value}
          onAccept={(id, accepted) => {
            // The hand scanner goes on in the field. With the focus there, the camera waits.
            if (foreign.value?.kind === 'garbled') field.current?.focus()
            else focusMain()
            accept(accepted)
            take({ kind: 'label', id })
          }}
        />
      )}
      <form
        class="fields"
        onSubmit={submitting(() => {
          if (typed.value.trim() === '') return
          take(codeTyped(typed.value))
          typed.value = ''
        })}
      >
        <label class="hidden" for="label-code">
          {say('scan.id')}
        </label>
        <input
          id="label-code"
          ref={field}
          autocomplete="off"
          spellcheck={false}
          placeholder={say('scan.idHint')}
          value={typed.value}
          onInput={(event) => (typed.value = event.currentTarget.value)}
        />
        <Button text={action} type="submit" />
      </form>
    </div>
  )
}

interface ForeignProps {
  readonly code: Exclude<Code, { kind: 'label' }>
  /** Called with the address, or the manner, that the person accepts. */
  readonly onAccept: (id: bigint, accepted: string) => void
}

/** Shows a code that is no label of this service as text. Nothing of it leads anywhere. */
function Foreign({ code, onAccept }: ForeignProps): JSX.Element {
  const shown = (text: string) => <bdi translate={false}>{text.slice(0, SHOWN)}</bdi>
  return (
    <div role="alert" class="foreign-code">
      {code.kind === 'sign-in' && <p>{say('scan.signsIn')}</p>}
      {code.kind === 'elsewhere' && (
        <>
          <p>
            {sayWith('scan.elsewhere', {
              id: String(code.id),
              address: <span class="foreign">{shown(code.address)}</span>,
            })}
          </p>
          <Button text={say('scan.accept')} onClick={() => onAccept(code.id, code.address)} />
        </>
      )}
      {code.kind === 'garbled' && (
        <>
          <p>{sayWith('scan.garbled', { id: <strong>{String(code.id)}</strong> })}</p>
          <Button text={say('scan.acceptGarbled', { id: code.id })} onClick={() => onAccept(code.id, code.manner)} />
        </>
      )}
      {code.kind === 'other' && (
        <>
          <p>{say('scan.foreign')}</p>
          <p class="foreign">
            {shown(code.text)}
            {code.text.length > SHOWN && '…'}
          </p>
        </>
      )}
    </div>
  )
}
