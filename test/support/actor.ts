import type { Actor } from '../../src/actor.ts'

/** The actor of writes in tests that do not depend on it. */
export const TESTER: Actor = { id: 'tok_tester', name: 'a test' }
