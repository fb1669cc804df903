/**
 * How far the service is on its way out. `draining`: it answers everything, but says that it is not ready and closes
 * each connection after its answer. `closing`: it answers 503 to what still comes.
 */
export type ServiceState = { current: 'serving' | 'draining' | 'closing' }
