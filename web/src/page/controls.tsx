import type { AllHTMLAttributes, ButtonHTMLAttributes, ComponentChildren, JSX, RefObject } from 'preact'
import { createElement } from 'preact'
import { useId } from 'preact/hooks'
import { say } from '../language/language.ts'

interface ButtonProps extends Omit<ButtonHTMLAttributes, 'children'> {
  readonly text: string
  /** What it does that to, where the view has such a button for each of several things. */
  readonly of?: string | bigint | undefined
  /** Whether what it does is under way: an ellipsis says so, and the button stays in place. */
  readonly isBusy?: boolean
}

/** A button that does something here. One that sends its form says so by its type. */
export const Button = ({ text, of, isBusy, type = 'button', ...others }: ButtonProps): JSX.Element => (
  <button
    type={type}
    aria-disabled={isBusy}
    {...others}
    {...(of !== undefined && { 'aria-label': say('page.about', { what: text, of }) })}
  >
    {isBusy === true ? say('page.going', { what: text }) : text}
  </button>
)

interface CheckProps {
  readonly isOn: boolean
  readonly onChange: (isOn: boolean) => void
  readonly children: ComponentChildren
}

export const Check = ({ isOn, onChange, children }: CheckProps): JSX.Element => (
  <label class="check">
    <input type="checkbox" checked={isOn} onChange={(event) => onChange(event.currentTarget.checked)} />
    {children}
  </label>
)

interface Told {
  readonly id: string
  readonly label: string
  /** Why the text is none that the field takes, in place of its note. */
  readonly fault?: string | undefined
  /** What the label does not say of the field. */
  readonly note?: string | undefined
}

type InputMember =
  | 'inputMode'
  | 'list'
  | 'max'
  | 'maxLength'
  | 'onClick'
  | 'placeholder'
  | 'required'
  | 'rows'
  | 'spellcheck'
  | 'step'
type Described = 'aria-describedby' | 'aria-invalid'

interface FieldProps extends Told, Pick<AllHTMLAttributes<HTMLInputElement>, InputMember | Described> {
  readonly type?: 'text' | 'search' | 'url' | 'number' | 'date' | 'password'
  readonly value: string | number
  readonly onText: (text: string) => void
  readonly place?: RefObject<HTMLElement | null>
  /** Whether it takes the room that other fields of its line leave. */
  readonly isWide?: boolean | undefined
  /** What else stands below the field. */
  readonly children?: ComponentChildren
}

/** A field for a text, of several lines where it has `rows`. */
export function Field(props: FieldProps): JSX.Element {
  const { id, label, fault, note, isWide, onText, place, children, ...others } = props
  const given = {
    ...attributesOf({ id, fault, note }),
    ref: (element: HTMLElement | null) => {
      if (place !== undefined) place.current = element
    },
    dir: 'auto',
    autocomplete: 'off',
    onInput: ({ currentTarget }: { readonly currentTarget: { readonly value: string } }) => onText(currentTarget.value),
    ...others,
  } as const
  return (
    <Labelled {...{ id, label, fault, note, isWide }}>
      {createElement(given.rows === undefined ? 'input' : 'textarea', given)}
      {children}
    </Labelled>
  )
}

interface ChoiceProps<T> extends Omit<Told, 'id'> {
  readonly id?: string
  readonly value: T
  readonly options: readonly (readonly [value: T, text: string])[]
  readonly onChoose: (value: T) => void
  readonly disabled?: boolean
}

/** A field for one of some values. */
export function Choice<T extends string | number>(props: ChoiceProps<T>): JSX.Element {
  const { value, options, onChoose, disabled, ...given } = props
  const told = { id: useId(), ...given }
  return (
    <Labelled {...told}>
      <select
        {...attributesOf(told)}
        disabled={disabled}
        value={value}
        onChange={({ currentTarget }) => {
          const chosen = options[currentTarget.selectedIndex]
          if (chosen !== undefined) onChoose(chosen[0])
        }}
      >
        {options.map(([each, text]) => (
          <option key={each} value={each}>
            {text}
          </option>
        ))}
      </select>
    </Labelled>
  )
}

const attributesOf = ({ id, fault, note }: Omit<Told, 'label'>) => ({
  id,
  'aria-invalid': fault === undefined ? undefined : true,
  'aria-describedby': fault === undefined && note === undefined ? undefined : `${id}-note`,
})

interface LabelledProps extends Told, Pick<FieldProps, 'isWide'> {
  readonly children: ComponentChildren
}

const Labelled = ({ id, label, fault, note, isWide, children }: LabelledProps): JSX.Element => (
  <div class={isWide === true ? 'field grow' : 'field'}>
    <label for={id}>{label}</label>
    {children}
    {(fault ?? note) !== undefined && (
      <span id={`${id}-note`} class={fault === undefined ? 'note' : 'note bad'}>
        {fault ?? note}
      </span>
    )}
  </div>
)

/** Does something where a form is sent, which the browser would send by itself. */
export const submitting = (run: () => void) => (event: Event) => {
  event.preventDefault()
  run()
}
