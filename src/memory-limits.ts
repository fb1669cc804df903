import { type Setting, setting, size } from './setting.ts'

/** Bytes that all connections may make the service keep, together. */
export interface MemoryLimits {
  readonly unreadLimit: number
  readonly compressionLimit: number
  readonly pipelineLimit: number
  readonly bodyMemory: number
}

export const MEMORY_LIMITS: { readonly [K in keyof MemoryLimits]-?: Setting<MemoryLimits[K]> } = {
  unreadLimit: setting(
    'unread-limit',
    'SIZE',
    '256MiB',
    'memory for answers that clients have not read yet, in total; beyond it the slowest clients are cut off',
    size,
  ),
  compressionLimit: setting(
    'compression-limit',
    'SIZE',
    '16MiB',
    'memory for answers that are being compressed, in total; more are sent uncompressed',
    size,
  ),
  pipelineLimit: setting(
    'pipeline-limit',
    'SIZE',
    '32MiB',
    'memory for pipelined requests in the queue, in total; more are answered 503',
    size,
  ),
  bodyMemory: setting(
    'body-memory',
    'SIZE',
    '256MiB',
    'memory for bodies over 4 KiB of requests that are not answered yet, all together, and half of it for one token; more are answered 503, and 429',
    size,
  ),
}
