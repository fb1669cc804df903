/** The key of a request. The draft demands quotes (a structured field); many clients send none. */
export const keyIn = (parameters: { readonly 'Idempotency-Key': string | undefined }): string | undefined =>
  parameters['Idempotency-Key']?.replaceAll('"', '')
