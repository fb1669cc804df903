/** The key of a request. The draft has it in quotes (a structured field); many clients send it without. */
export const keyIn = (parameters: { readonly 'Idempotency-Key': string | undefined }): string | undefined =>
  parameters['Idempotency-Key']?.replaceAll('"', '')
