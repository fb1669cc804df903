import { OperatorError } from '../base/operator-error.ts'

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOENT: 'there is no such file or folder',
  ENOTDIR: 'a part of the path is not a folder',
  EISDIR: 'it is a folder',
  ELOOP: 'its symbolic links form a loop',
  ENOSPC: 'no space is left on the device',
  EDQUOT: "the user's disk quota is used up",
  EFBIG: 'the file would exceed the allowed size',
  ENAMETOOLONG: 'the name is too long',
  EMFILE: 'too many files are open',
  ENXIO: 'it is a pipe without a reader, or the device is absent',
  EIO: 'the device reports an I/O error',
  Z_DATA_ERROR: 'it is not a gzip file, or it is damaged',
  Z_BUF_ERROR: 'the gzip file is truncated',
}

/** Returns an OperatorError of one line for an error of the file system or of gzip, and other errors unchanged. */
export function fileFault(path: string, error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const reason = REASONS[code]
  return reason === undefined ? error : new OperatorError(`${path}: ${reason}`, { cause: error })
}
