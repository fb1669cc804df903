import { AppError, type AppErrorOptions, type ErrorNumber } from '../../errors.ts'

interface HttpErrorOptions extends AppErrorOptions {
  readonly headers: Readonly<Record<string, string>>
}

/** An AppError whose response has headers of its own, such as `Allow`. */
export class HttpError extends AppError {
  readonly headers: Readonly<Record<string, string>>

  constructor(number: ErrorNumber, message: string, options: HttpErrorOptions) {
    super(number, message, options)
    this.headers = options.headers
  }
}

/** The response headers of a refusal: Retry-After where it has a time, and those of an HttpError. */
export function refusalHeaders(refusal: AppError): Readonly<Record<string, string>> {
  const { retryAfter } = refusal
  return {
    ...(retryAfter === undefined ? {} : { 'Retry-After': String(retryAfter) }),
    ...(refusal instanceof HttpError ? refusal.headers : {}),
  }
}
