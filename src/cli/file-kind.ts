import { FORMATS, type Format, formatOf } from '../import/format.ts'
import { OperatorError } from '../operator-error.ts'

export interface KindFlags {
  readonly format?: Format
  readonly gzip?: true
}

export interface FileKind {
  readonly format: Format
  readonly gzip: boolean
}

/**
 * What a file holds: by its name, or as the flags say.
 *
 * @param file a path, or `-` for standard input or output
 * @throws OperatorError (exit code 2) when neither tells
 */
export function fileKind(file: string, flags: KindFlags): FileKind {
  const format = flags.format ?? formatOf(file)
  if (format !== undefined) return { format, gzip: flags.gzip ?? file.toLowerCase().endsWith('.gz') }
  const reason =
    file === '-'
      ? '- has no file name to derive the format from'
      : `${file}: its name does not end like plants.csv or plants.ndjson`
  const cures = FORMATS.map((known) => `--format ${known}`)
  throw new OperatorError(`${reason}; add ${cures.join(' or ')}`, { exitCode: 2 })
}
