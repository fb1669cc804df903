import { readContract } from '../http/operations.ts'

/**
 * Prints the contract as the service answers it at `/openapi.json`, but in lines, to be read or given to a generator.
 */
export function printContract(): void {
  process.stdout.write(`${JSON.stringify(readContract().document, null, 2)}\n`)
}
