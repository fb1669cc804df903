// Loaded into the service by `node --import`: measures for how long the event loop was blocked, by wall clock and by
// processor time. Processor time leaves out the time that other processes of a busy machine took.
export interface Hold {
  readonly wall: number
  readonly processor: number
}

let wall = 0
let processor = 0
let wallBefore = performance.now()
let processorBefore = processorTime()

setInterval(() => {
  const now = performance.now()
  const used = processorTime()
  wall = Math.max(wall, now - wallBefore)
  processor = Math.max(processor, used - processorBefore)
  wallBefore = now
  processorBefore = used
}, 1).unref()

process.on('message', () => {
  process.send?.({ wall, processor } satisfies Hold)
  wall = 0
  processor = 0
})
process.channel?.unref()

/** Milliseconds of processor time of this thread. */
function processorTime(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}
