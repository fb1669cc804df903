import type { Actor } from '../../domain/actor.ts'
import { AppError, type AppErrorOptions, type ErrorNumber } from '../../domain/errors.ts'

interface HttpErrorOptions extends AppErrorOptions {
  readonly headers: Readonly<Record<string, string>>
  readonly revoked?: Actor | undefined
}

/** An AppError whose response has headers of its own, such as `Allow`. */
export class HttpError extends AppError {
  readonly headers: Readonly<Record<string, string>>
  /** The revoked token that was sent, for the audit log. */
  readonly revoked: Actor | undefined

  constructor(number: ErrorNumber, message: string, options: HttpErrorOptions) {
    super(number, message, options)
    this.headers = options.headers
    this.revoked = options.revoked
  }
}

/** The response headers of a refusal: Retry-After where it has a time, and the headers of an HttpError. */
export function refusalHeaders(refusal: AppError): Readonly<Record<string, string>> {
  const { retryAfter } = refusal
  return {
    ...(retryAfter === undefined ? {} : { 'Retry-After': String(retryAfter) }),
    ...(refusal instanceof HttpError ? refusal.headers : {}),
  }
}

/** Returns the refusal for an error. Hides the text of an error other than AppError, which may hold secrets. */
export const asRefusal = (error: unknown): AppError =>
  error instanceof AppError
    ? error
    : new AppError(50001, 'an unexpected error occurred in the service', { cause: error })
