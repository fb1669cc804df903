import { PlantstoreError, PlantstoreUnreachable } from '../../client/src/index.ts'

/** Words an error for people. */
export function said(error: unknown): string {
  if (error instanceof PlantstoreUnreachable) return 'The service cannot be reached.'
  if (!(error instanceof PlantstoreError)) return error instanceof Error ? error.message : String(error)
  switch (error.number) {
    case 40102:
      return 'The service does not know this token, or it was revoked.'
    case 40103:
      return 'The token has expired.'
    case 40301:
      return 'Your token does not allow this.'
    case 42901:
      return 'Too many requests. Wait a moment, then try again.'
    default:
      return sentence(error.message)
  }
}

export const sentence = (text: string): string =>
  `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`

export const isRefusal = (error: unknown, number: number): boolean =>
  error instanceof PlantstoreError && error.number === number

/** Whether the page itself ended the request, because a newer one replaced it or the person stopped it. */
export const isAbort = (error: unknown): boolean => error instanceof DOMException && error.name === 'AbortError'
