import type { JSX } from 'preact'

/** Drawn on a grid of 24, because not every font has them. */
const PATHS = {
  camera:
    'M9 4 7.4 6H4.5A2.5 2.5 0 0 0 2 8.5v9A2.5 2.5 0 0 0 4.5 20h15a2.5 2.5 0 0 0 2.5-2.5v-9A2.5 2.5 0 0 0 19.5 6h-2.9L15 4zm3 4.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9zm0 2a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5z',
  add: 'M11 4h2v7h7v2h-7v7h-2v-7H4v-2h7z',
  edit: 'M16.8 3.2a2.5 2.5 0 0 1 3.6 0l.4.4a2.5 2.5 0 0 1 0 3.6L8.5 19.5 3 21l1.5-5.5zM15.4 7.4 6.3 16.5l-.5 1.7 1.7-.5 9.1-9.1zm2.8-2.8-1.4 1.4 1.2 1.2 1.4-1.4z',
  tools:
    'M4 6h8.2a3 3 0 0 1 5.6 0H20v2h-2.2a3 3 0 0 1-5.6 0H4zm11 0a1 1 0 1 0 0 2 1 1 0 0 0 0-2zM4 16h2.2a3 3 0 0 1 5.6 0H20v2h-8.2a3 3 0 0 1-5.6 0H4zm5 0a1 1 0 1 0 0 2 1 1 0 0 0 0-2z',
  plant:
    'M20.5 3.5C11 3.2 5 7 5 13.2c0 1.3.3 2.5.8 3.6L3.3 20l1.6 1.2 2.3-3A7 7 0 0 0 11 19.3c6.7 0 9.9-5.5 9.5-15.8zM11 17.3c-.9 0-1.8-.2-2.5-.6L15 9.5l-1.5-1.3-6.2 6.7a6 6 0 0 1-.3-1.7c0-4.6 4.2-7.5 11.5-7.7C18.4 12.7 16 17.3 11 17.3z',
  tick: 'M9 2h6a2 2 0 0 1 2 2h2a2 2 0 0 1 2 2v14a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2V6a2 2 0 0 1 2-2h2a2 2 0 0 1 2-2zm0 2v2h6V4zM7 6H5v14h14V6h-2v2H7zm3.8 11.5-3.3-3.3 1.4-1.4 1.9 1.9 4.3-4.3 1.4 1.4z',
  undo: 'M9 4v4h5a6 6 0 0 1 0 12H7v-2h7a4 4 0 0 0 0-8H9v4L4 9z',
  more: 'M5 10a2 2 0 1 1 0 4 2 2 0 0 1 0-4zm7 0a2 2 0 1 1 0 4 2 2 0 0 1 0-4zm7 0a2 2 0 1 1 0 4 2 2 0 0 1 0-4z',
  person:
    'M12 3a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9zm0 2a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5zm0 8.5c4.4 0 8 2.4 8 5.5v2H4v-2c0-3.1 3.6-5.5 8-5.5zm0 2c-3.3 0-5.9 1.6-6 3.5h12c-.1-1.9-2.7-3.5-6-3.5z',
} as const

export type IconName = keyof typeof PATHS

export function Icon({ name }: { readonly name: IconName }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  )
}
