import type { ButtonHTMLAttributes, ComponentChildren, JSX } from 'preact'

interface ButtonProps extends Omit<ButtonHTMLAttributes, 'children'> {
  readonly text: ComponentChildren
}

/** A button that does something here. One that sends its form says so by its type. */
export const Button = ({ text, type = 'button', ...others }: ButtonProps): JSX.Element => (
  <button type={type} {...others}>
    {text}
  </button>
)
