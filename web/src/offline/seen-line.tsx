import type { JSX } from 'preact'
import { say, timeOf } from '../language/language.ts'

/** Says that what the page shows is what this device has seen before. @param since undefined: it is not */
export function SeenLine({ since }: { readonly since: number | undefined }): JSX.Element {
  return (
    <p class="seen" role="status">
      {since !== undefined && say('seen.since', { time: timeOf(since, 'short') })}
    </p>
  )
}
