import type { JSX } from 'preact'

/** Drawn on a grid of 24, because not every font has them. */
const PATHS = {
  camera:
    'M9 4 7.4 6H4.5A2.5 2.5 0 0 0 2 8.5v9A2.5 2.5 0 0 0 4.5 20h15a2.5 2.5 0 0 0 2.5-2.5v-9A2.5 2.5 0 0 0 19.5 6h-2.9L15 4zm3 4.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9zm0 2a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5z',
  add: 'M11 4h2v7h7v2h-7v7h-2v-7H4v-2h7z',
  edit: 'M16.8 3.2a2.5 2.5 0 0 1 3.6 0l.4.4a2.5 2.5 0 0 1 0 3.6L8.5 19.5 3 21l1.5-5.5zM15.4 7.4 6.3 16.5l-.5 1.7 1.7-.5 9.1-9.1zm2.8-2.8-1.4 1.4 1.2 1.2 1.4-1.4z',
  tools:
    'M4 6h8.2a3 3 0 0 1 5.6 0H20v2h-2.2a3 3 0 0 1-5.6 0H4zm11 0a1 1 0 1 0 0 2 1 1 0 0 0 0-2zM4 16h2.2a3 3 0 0 1 5.6 0H20v2h-8.2a3 3 0 0 1-5.6 0H4zm5 0a1 1 0 1 0 0 2 1 1 0 0 0 0-2z',
} as const

export function Icon({ name }: { readonly name: keyof typeof PATHS }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  )
}
