// Runs the tests of the operations on webhooks on PostgreSQL.
import { engine } from '../support/engine-under-test.ts'

engine.current = 'postgres'
await import('../webhooks/webhooks.test.ts')
await import('../webhooks/redelivery.test.ts')
await import('../webhooks/rights.test.ts')
await import('../webhooks/rotation.test.ts')
