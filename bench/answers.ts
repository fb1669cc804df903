/** Milliseconds for which a generator sends requests before it measures. */
export const WARM_UP = 1000

/** The place of the first digit of the status in `HTTP/1.1 200 OK`. */
const FIRST_STATUS_DIGIT = 9
const DIGIT_TWO = 0x32
const HEAD_END = '\r\n\r\n'
const LENGTH = '\r\nContent-Length: '

/** Whether an answer has a status of 2xx, by its first chunk. */
export const isSuccess = (chunk: Buffer): boolean => chunk[FIRST_STATUS_DIGIT] === DIGIT_TWO

/** Returns the bytes of an answer, by its first chunk, which has the whole head. */
export function lengthOf(chunk: Buffer): number {
  const head = chunk.toString('latin1', 0, chunk.indexOf(HEAD_END))
  return head.length + HEAD_END.length + Number.parseInt(head.slice(head.indexOf(LENGTH) + LENGTH.length), 10)
}

/** Sorts times, and returns their median and their 95th and 99th percentiles. */
export function quantilesOf(times: number[]): { readonly p50: number; readonly p95: number; readonly p99: number } {
  times.sort((a, b) => a - b)
  const quantile = (q: number) => times[Math.floor(times.length * q)] ?? Number.NaN
  return { p50: quantile(0.5), p95: quantile(0.95), p99: quantile(0.99) }
}
