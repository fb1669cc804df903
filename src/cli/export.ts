import { pipeline } from 'node:stream'
import { createGzip } from 'node:zlib'
import { isFileOfStore } from '../base/files.ts'
import { OperatorError, usageError } from '../base/operator-error.ts'
import { counted } from '../base/printable.ts'
import { filterOf, type PlantOrder } from '../domain/plant-query.ts'
import { type Format, NO_PLANTS, writeFile } from '../import/format.ts'
import type { Config } from '../settings/config.ts'
import type { Flags } from './command.ts'
import { withStore } from './open-store.ts'
import { formatTime, note, printJson, withProgress } from './output.ts'
import { encoded, fileKind, type KindFlags, outputFile, standardOutput } from './plant-files.ts'
import { targetOf } from './service-client.ts'

export interface ExportFlags extends Flags, KindFlags {
  readonly tag?: readonly string[]
  readonly tagPrefix?: string
  readonly untagged?: true
  readonly q?: string
  readonly sort?: PlantOrder
  readonly force?: true
}

/**
 * Exports plants to a file, or to standard output for `-`. An export that breaks off leaves no file.
 *
 * @returns the number of plants
 */
export async function exportFile(file: string, flags: ExportFlags, config: Config): Promise<number> {
  const { format, gzip } = fileKind(file, flags)
  const target = targetOf(flags, config)
  if (file === '-' && gzip && process.stdout.isTTY) {
    throw usageError('--gzip', 'a terminal cannot show compressed data; name a file')
  }
  if (file === '-' && flags.json) {
    throw usageError('--json', 'standard output gets the plants; name a file')
  }
  if (target.kind === 'store' && target.address.engine === 'sqlite' && isFileOfStore(file, target.address.path)) {
    throw new OperatorError(`${file}: is a file of the store; choose another file`)
  }
  const output = file === '-' ? standardOutput : outputFile(file, flags.force === true)
  const counter = { rows: 0 }
  const startedAt = performance.now()
  const isWhole = await withProgress(
    () => counter,
    flags,
    (_progress, stop) => {
      const write = (content: AsyncIterable<Uint8Array>) => {
        const rows = counting(content, format, counter)
        return output(gzip ? pipeline(rows, createGzip({ chunkSize: 2 ** 16 }), () => {}) : rows, stop)
      }
      const { tag, tagPrefix, untagged, q, sort } = flags
      if (target.kind === 'service') {
        const query = { format, sort, tag, tagPrefix, untagged, q }
        return write(target.service.bytes((client) => client.exportFile(query, { signal: stop })))
      }
      return withStore(target.address, { create: false }, (store) => {
        const filter = filterOf(flags)
        const plants = filter === undefined ? NO_PLANTS : store.exportPlants(filter, sort ?? 'id')
        return write(encoded(writeFile(format, plants)))
      })
    },
    (isStopped) => (isStopped ? ['stopped; no file was written'] : []),
  )
  const time = formatTime((performance.now() - startedAt) / 1000)
  if (!isWhole) process.exitCode = ENDED_EARLY
  if (flags.json) printJson({ file, format, gzip, plants: counter.rows })
  else if (!flags.quiet) note(isWhole ? `done: ${counted(counter.rows, 'plant')} in ${time}` : READER_LEFT)
  return counter.rows
}

/** What a shell reports of a program that SIGPIPE ends: the plants that the reader got are not all. */
const ENDED_EARLY = 141
const READER_LEFT = 'ended early: the reader closed standard output before all plants were written'

const QUOTE = 0x22
const LF = 0x0a

/** Passes the bytes of a file on, and counts its rows. A line feed in quotation marks belongs to a text of CSV. */
async function* counting(
  content: AsyncIterable<Uint8Array>,
  format: Format,
  counter: { rows: number },
): AsyncGenerator<Uint8Array> {
  // The header of CSV is no row.
  let lines = format === 'csv' ? -1 : 0
  let inQuotes = false
  for await (const chunk of content) {
    for (const byte of chunk) {
      if (byte === QUOTE && format === 'csv') inQuotes = !inQuotes
      else if (byte === LF && !inQuotes) lines++
    }
    counter.rows = Math.max(0, lines)
    yield chunk
  }
}
