import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import type { Logger } from 'pino'
import { mustBePrivate } from '../base/files.ts'
import { OperatorError, usageError } from '../base/operator-error.ts'
import type { ServedCertificate } from '../http/metrics/service-metrics.ts'
import type { CertificatePair } from '../http/port/port.ts'
import type { Config } from '../settings/config.ts'
import { fileFault } from './plant-files.ts'

/** Milliseconds between two looks whether the files have changed. */
const LOOK_INTERVAL = 60_000

const DAY = 86_400_000
/** Milliseconds before its end from which the log warns of a certificate. Those of Let's Encrypt last 90 days. */
const WARN_BEFORE = 14 * DAY

/** The certificate of the service, which follows its files. */
export class Certificate implements ServedCertificate {
  pair: CertificatePair
  expiresAt: Date
  failures = 0
  readonly #files: CertificateFiles
  readonly #log: Logger
  /** The newest fault, so that the log has each only once. */
  #fault = ''
  /** The whole days of life of the newest warning. */
  #warnedAt: number | undefined
  #use: (pair: CertificatePair) => void = () => {}

  /** @throws OperatorError (exit code 2) that names the fault of the files */
  constructor(files: CertificateFiles, log: Logger) {
    this.#files = files
    this.#log = log
    this.pair = readPair(files)
    this.expiresAt = checkedEnd(files, this.pair)
    this.#warn()
  }

  /** Looks at the files once a minute. @param use takes a changed certificate over */
  follow(use: (pair: CertificatePair) => void): void {
    this.#use = use
    setInterval(() => this.look(), LOOK_INTERVAL).unref()
  }

  /** Takes changed files over. A fault changes nothing: a tool may have written one of the two files so far. */
  look(): void {
    try {
      const pair = readPair(this.#files)
      if (pair.cert !== this.pair.cert || pair.key !== this.pair.key) {
        const expiresAt = checkedEnd(this.#files, pair)
        this.#use(pair)
        this.pair = pair
        this.expiresAt = expiresAt
        this.#warnedAt = undefined
        this.#log.info({ expiresAt }, 'new connections get the changed certificate')
      }
      this.#fault = ''
    } catch (error) {
      this.failures++
      const why = error instanceof Error ? error.message : String(error)
      if (why !== this.#fault) {
        this.#log.error({ why }, 'the certificate could not be read again, so the present one stays')
      }
      this.#fault = why
    }
    this.#warn()
  }

  /** Warns once a day while the certificate ends soon. */
  #warn(): void {
    const left = this.expiresAt.getTime() - Date.now()
    const days = Math.floor(left / DAY)
    if (left > WARN_BEFORE || days === this.#warnedAt) return
    this.#warnedAt = days
    const { expiresAt } = this
    this.#log.warn({ expiresAt }, left > 0 ? 'the certificate expires soon' : 'the certificate has expired')
  }
}

export interface CertificateFiles {
  readonly cert: string
  readonly key: string
}

/** The files that the configuration names; undefined for a service without TLS. */
export const certificateFiles = ({ tlsCert, tlsKey }: Config): CertificateFiles | undefined =>
  tlsCert === undefined || tlsKey === undefined ? undefined : { cert: tlsCert, key: tlsKey }

function readPair(files: CertificateFiles): CertificatePair {
  const key = tried(files.key, '--tls-key', undefined, () => {
    mustBePrivate(files.key)
    return readFileSync(files.key, 'latin1')
  })
  return { cert: tried(files.cert, '--tls-cert', undefined, () => readFileSync(files.cert, 'latin1')), key }
}

/** Returns the time when the certificate expires. @throws OperatorError (exit code 2) that names the fault of the pair */
function checkedEnd(files: CertificateFiles, pair: CertificatePair): Date {
  // The first certificate of the file is the one of the service.
  const own = tried(files.cert, '--tls-cert', 'has no certificate in PEM', () => new X509Certificate(pair.cert))
  const key = tried(files.key, '--tls-key', 'has no private key in PEM', () => createPrivateKey(pair.key))
  if (!own.checkPrivateKey(key)) {
    throw usageError('--tls-key', `${files.key}: is not the key of the first certificate in ${files.cert}`)
  }
  // OpenSSL refuses a damaged chain, and keys that are too small.
  tried(files.cert, '--tls-cert', undefined, () => createSecureContext(pair))
  const { validToDate } = own
  if (validToDate.getTime() > Date.now()) return validToDate
  throw usageError('--tls-cert', `${files.cert}: the certificate expired on ${validToDate.toISOString()}`)
}

/** Runs a step. @param fault what its failure means; undefined: its error says it */
function tried<T>(path: string, flag: string, fault: string | undefined, step: () => T): T {
  try {
    return step()
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const isEncrypted = code === 'ERR_MISSING_PASSPHRASE'
    if (isEncrypted) throw usageError(flag, `${path}: is encrypted, and nobody can enter its password`)
    const known = fileFault(path, error)
    throw usageError(flag, known instanceof OperatorError ? known.message : `${path}: ${fault ?? message}`)
  }
}
