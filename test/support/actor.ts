import type { Actor } from '../../src/actor.ts'

/** Who writes in tests that do not care who it is. */
export const TESTER: Actor = { id: 'tok_tester', name: 'a test' }
