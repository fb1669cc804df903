/**
 * The state of the service. `draining`: the service answers every request, reports that it is not ready, and closes
 * each connection after its answer. `closing`: it answers each request with 503.
 */
export type ServiceState = { current: 'serving' | 'draining' | 'closing' }
