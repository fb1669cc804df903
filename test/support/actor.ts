import type { Actor } from '../../src/domain/token.ts'

/** The actor of writes in tests for which the actor does not matter. */
export const TESTER: Actor = { id: 'tok_tester', name: 'a test' }
