import { lstatSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { syncDirectory } from '../base/files.ts'
import { OperatorError, usageError } from '../base/operator-error.ts'
import type { Part } from '../domain/part.ts'
import type { Store } from '../domain/store.ts'
import {
  commandActor,
  DEFAULT_OVERLAP,
  faultOfTokenName,
  hashSecret,
  isScope,
  MAX_OVERLAP,
  makeSecret,
  makeTokenId,
  PART_RULE,
  partIn,
  SCOPES,
  type Scope,
  scopesIn,
  type Token,
  type TokenRequest,
  type TokenStore,
  timeIn,
} from '../domain/token.ts'
import type { AuditLog } from '../http/answer/audit-log.ts'
import type { Config } from '../settings/config.ts'
import type { Flags } from './command.ts'
import { CommandAudit } from './log.ts'
import { withStore } from './open-store.ts'
import { printJson, table } from './output.ts'
import { fileFault, onFile } from './plant-files.ts'

export interface CreateFlags extends Flags {
  readonly name?: string
  readonly scopes?: string
  readonly part?: readonly string[]
  readonly expires?: string
}

export interface RotateFlags extends Flags {
  readonly overlap?: string
}

export interface RevokeFlags extends Flags {
  readonly evenLast?: true
}

const ACTOR = commandActor('token')

/** Prints only the secret on standard output, for pipes, and all else on standard error. */
export async function createToken(flags: CreateFlags, { store, auditLog }: Config): Promise<void> {
  const [name, scopes, part] = [tokenName(flags.name), scopesOf(flags.scopes), partOf(flags.part)]
  const wanted = { name, scopes, part, expiresAt: expiryOf(flags.expires) }
  using audit = new CommandAudit(auditLog, [store], ACTOR, true)
  const { secret, token } = await withStore(store, { create: true }, ({ tokens }) => issueToken(tokens, wanted))
  audit.write('createToken', 'created', auditedToken(token))
  printSecret(token, secret, flags)
}

function printSecret({ id, name, scopes, part, expiresAt }: Token, secret: string, { json }: Flags): void {
  process.stderr.write(`Created ${id}. The token is shown only once; the store keeps only its hash.\n`)
  if (json) printJson({ secret, id, name, scopes, part, expiresAt })
  else process.stdout.write(`${secret}\n`)
}

export async function listTokens({ json }: Flags, { store }: Config): Promise<void> {
  const all = await withStore(store, { create: false }, ({ tokens }) => tokens.listTokens())
  if (json) return printJson(all)
  const rows = all.map(({ id, name, scopes, part, createdAt, expiresAt, lastUsedAt, revokedAt }) => {
    const times = [createdAt, expiresAt, lastUsedAt, revokedAt]
    return [
      id,
      name,
      scopes.join(','),
      part?.join(', ') ?? 'all',
      ...times.map((time) => (time === undefined ? 'never' : shortTime(time))),
    ]
  })
  process.stdout.write(table([['ID', 'NAME', 'SCOPES', 'PART', 'CREATED', 'EXPIRES', 'LAST USED', 'REVOKED'], ...rows]))
}

const shortTime = (date: Date): string => date.toISOString().replace(/\.\d+Z/, 'Z')

export async function revokeToken(id: string, flags: RevokeFlags, { store, auditLog }: Config): Promise<void> {
  using audit = new CommandAudit(auditLog, [store], ACTOR, true)
  const keepLast = flags.evenLast !== true
  const result = await withStore(store, { create: false }, ({ tokens }) => tokens.revokeToken(id, keepLast))
  if (result === 'last') throw new OperatorError(LAST)
  if (result !== 'revoked') throw noActive(id)
  audit.write('revokeToken', 'revoked', { revoked: id })
  process.stderr.write(`Revoked ${id}; it stops working within a second.\n`)
  if (flags.json) printJson({ revoked: id })
}

/** Makes a token with the rights of another one, which ends after the overlap. Prints as createToken does. */
export async function rotateToken(id: string, flags: RotateFlags, config: Config): Promise<void> {
  const { store, auditLog, maxTokens, maxEndedTokens: maxEnded } = config
  const createdAt = new Date()
  const until = createdAt.getTime() + overlapOf(flags.overlap)
  const rotates = { id, until, scopes: SCOPES, expiresAt: Number.POSITIVE_INFINITY }
  const bounds = { creator: undefined, max: maxTokens, maxEnded, rotates }
  const secret = makeSecret()
  // The store gives the token the content of the one that it replaces.
  const content = { name: id, scopes: [], expiresAt: undefined, lastUsedAt: undefined, revokedAt: undefined }
  using audit = new CommandAudit(auditLog, [store], ACTOR, true)
  const token = await withStore(store, { create: false }, ({ tokens }) =>
    tokens.issueToken({ ...content, id: makeTokenId(), createdAt }, hashSecret(secret), bounds),
  )
  if (token === 'too many') throw new OperatorError(`there are ${maxTokens} active tokens; revoke one first`)
  if (typeof token === 'string') throw noActive(id)
  audit.write('rotateToken', 'created', { rotated: id, ...auditedToken(token) })
  const end = until <= Date.now() ? 'stops within a second' : `works until ${shortTime(new Date(until))} at the latest`
  process.stderr.write(`${id} ${end}. `)
  printSecret(token, secret, flags)
}

const noActive = (id: string): OperatorError =>
  new OperatorError(`there is no active token ${id}; "plantstore token list" lists all tokens`)

const LAST =
  'this is the last active token with the scope tokens, without which no other can be created or revoked over HTTP; create another one first, or add --even-last'

function tokenName(name: string | undefined): string {
  if (name === undefined) {
    throw usageError('--name', 'say what the token is for, such as --name "label printer"')
  }
  const fault = faultOfTokenName(name)
  if (fault !== undefined) throw usageError('--name', fault)
  return name
}

/**
 * Stands for all scopes of this version. Only this command takes it: over HTTP, it could mean those of the service or
 * those of the request's token.
 */
const ALL = 'all'

function scopesOf(list: string | undefined): readonly Scope[] {
  if (list === undefined) return SCOPES.filter((scope) => scope.startsWith('plants:'))
  const scopes = list.split(',').map((scope) => scope.trim())
  if (scopes.join() === ALL) return SCOPES
  const known = scopesIn(scopes)
  if (known !== undefined) return known
  const unknown = scopes.filter((scope) => !isScope(scope))
  const fault = `"${unknown.join(',')}" is not among ${SCOPES.join(', ')}; "${ALL}" alone stands for all of them`
  throw usageError('--scopes', fault)
}

function partOf(texts: readonly string[] | undefined): Part | undefined {
  const part = partIn(texts)
  if (texts !== undefined && part === undefined)
    throw usageError('--part', `takes ${PART_RULE}, each by a flag of its own`)
  return part
}

/** Reads `90d`, `12h`, or an RFC 3339 date or time in the future. */
function expiryOf(text: string | undefined): Date | undefined {
  if (text === undefined) return undefined
  const span = spanIn(text)
  const time = span === undefined ? timeIn(completeTime(text))?.getTime() : Date.now() + span
  if (time !== undefined && time > Date.now()) return new Date(time)
  throw usageError(
    '--expires',
    `"${text}" is not a time in the future up to the year 9999, such as 90d, 12h or 2030-12-31`,
  )
}

/** Adds seconds that are left out, or a time of day that is left out, which is then midnight in UTC. */
const completeTime = (text: string): string =>
  /^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00:00Z` : text.replace(/^(\S{10}T\d{2}:\d{2})(?=Z|[+-])/, '$1:00')

/** Reads `12h` or `90d`, in milliseconds. */
function spanIn(text: string): number | undefined {
  const [, count, unit] = /^(\d{1,5})([hd])$/.exec(text) ?? []
  return count === undefined ? undefined : Number(count) * (unit === 'd' ? 24 : 1) * 3.6e6
}

/** @returns milliseconds */
function overlapOf(text: string | undefined): number {
  const span = text === undefined ? DEFAULT_OVERLAP : spanIn(text)
  if (span !== undefined && span <= MAX_OVERLAP) return span
  throw usageError('--overlap', `"${text}" is not a time up to 7d, such as 0h, 12h or 1d`)
}

/** The first token of a store. With `none` the start made no token, as it has no safe place for the secret. */
export type FirstToken =
  | { readonly kind: 'shown'; readonly secret: string }
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'none' }

/**
 * Makes a token with all scopes for a store that never had a token. On a terminal, the banner shows the secret. Other
 * output goes to a log, so the secret goes to a file beside the store, which only its owner can read. A PostgreSQL
 * store has no such folder, and several instances that start at once would each make a token.
 *
 * A start that ends between the file and the token leaves a file whose token no store has. The next start writes another.
 *
 * @returns undefined when the store needs no token
 */
export async function makeFirstToken(store: Store, config: Config, audit: AuditLog): Promise<FirstToken | undefined> {
  if (config.token !== undefined || (await store.tokens.listTokens({ limit: 1 })).length > 0) return undefined
  const wanted = { name: 'operator', scopes: SCOPES, expiresAt: undefined }
  const issue = async (secret?: string): Promise<string> => {
    const issued = await issueToken(store.tokens, wanted, secret)
    const details = auditedToken(issued.token)
    audit.write({ operation: 'createToken', outcome: 'created', actor: commandActor('serve'), details })
    return issued.secret
  }
  if (process.stdout.isTTY) return { kind: 'shown', secret: await issue() }
  if (config.store.engine !== 'sqlite') return { kind: 'none' }
  const path = `${config.store.path}.first-token`
  const secret = makeSecret()
  mustBeLeftover(path)
  writeAnew(path, `${secret}\n`)
  try {
    await issue(secret)
  } catch (error) {
    rmSync(path, { force: true })
    throw error
  }
  return { kind: 'file', path }
}

/** A secret, the start of one, or the zeros of a file whose content a power cut took. */
const LEFTOVER = /^(?:\0*|ps?|ps_[0-9A-Za-z]{0,49}\n?)$/
/** Bytes, more than a secret has. */
const MAX_LEFTOVER = 64

/** @throws OperatorError when the path holds anything but what an interrupted start has left */
function mustBeLeftover(path: string): void {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  if (stat === undefined) return
  const isShort = stat.isFile() && stat.size <= MAX_LEFTOVER
  if (isShort && LEFTOVER.test(onFile(path, () => readFileSync(path, 'latin1')))) return
  throw new OperatorError(`${path}: already exists and holds no access token; move it away`)
}

function writeAnew(path: string, text: string): void {
  try {
    rmSync(path, { force: true })
    writeFileSync(path, text, { flag: 'wx', mode: 0o600, flush: true })
    syncDirectory(dirname(path))
  } catch (error) {
    rmSync(path, { force: true })
    throw fileFault(path, error)
  }
}

async function issueToken(
  tokens: TokenStore,
  wanted: TokenRequest,
  secret = makeSecret(),
): Promise<{ readonly token: Token; readonly secret: string }> {
  const token = { ...wanted, id: makeTokenId(), createdAt: new Date(), lastUsedAt: undefined, revokedAt: undefined }
  await tokens.createToken(token, hashSecret(secret))
  return { token, secret }
}

const auditedToken = ({ id, name, scopes, part, expiresAt }: Token): object => ({
  created: id,
  createdName: name,
  scopes,
  part,
  expiresAt,
})
