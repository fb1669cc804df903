import { OperatorError } from '../base/operator-error.ts'
import { commandActor } from '../domain/actor.ts'
import { faultOfTokenName, isScope, SCOPES, type Scope, scopesIn, type Token, timeIn } from '../domain/token.ts'
import type { Config } from '../settings/config.ts'
import { CommandAudit } from './audit-file.ts'
import { auditedToken, issueToken } from './issue-token.ts'
import { withStore } from './open-store.ts'

export interface CreateFlags {
  readonly name: string | undefined
  readonly scopes: string | undefined
  readonly expires: string | undefined
  readonly json: boolean
}

/** Prints only the secret on standard output, for pipes, and all else on standard error. */
export async function createToken(config: Config, flags: CreateFlags): Promise<void> {
  const wanted = { name: tokenName(flags.name), scopes: scopesOf(flags.scopes), expiresAt: expiryOf(flags.expires) }
  using audit = new CommandAudit(config.auditLog, [config.store], ACTOR, 'standard error')
  const { secret, token } = await withStore(config.store, { create: true }, (store) => issueToken(store.tokens, wanted))
  audit.write('createToken', 'created', auditedToken(token))
  process.stderr.write(`Created ${token.id}. The token is shown only once; the store keeps only its hash.\n`)
  const { id, name, scopes, expiresAt } = token
  const shown = { secret, id, name, scopes, expiresAt }
  process.stdout.write(flags.json ? `${JSON.stringify(shown, null, 2)}\n` : `${secret}\n`)
}

/** Prints all tokens without their secrets, as a table or as JSON. */
export async function listTokens(config: Config, json: boolean): Promise<void> {
  const tokens = await withStore(config.store, { create: false }, (store) => store.tokens.listTokens())
  if (json) {
    process.stdout.write(`${JSON.stringify(tokens, null, 2)}\n`)
    return
  }
  const rows = tokens.map((token) => [token.id, token.name, token.scopes.join(','), ...timesOf(token)])
  process.stdout.write(table([['ID', 'NAME', 'SCOPES', 'CREATED', 'EXPIRES', 'LAST USED', 'REVOKED'], ...rows]))
}

export interface RevokeFlags {
  /** Whether to revoke even the last active token with the scope `tokens`. */
  readonly evenLast: boolean
  readonly json: boolean
}

/** @throws OperatorError when no active token has the id, or the token is the last with the scope `tokens` */
export async function revokeToken(config: Config, id: string, { evenLast, json }: RevokeFlags): Promise<void> {
  using audit = new CommandAudit(config.auditLog, [config.store], ACTOR, 'standard error')
  const result = await withStore(config.store, { create: false }, (store) => store.tokens.revokeToken(id, !evenLast))
  if (result === 'last') throw new OperatorError(LAST)
  if (result !== 'revoked') {
    throw new OperatorError(`there is no active token ${id}; "plantstore token list" lists all tokens`)
  }
  audit.write('revokeToken', 'revoked', { revoked: id })
  process.stderr.write(`Revoked ${id}; it stops working within a second.\n`)
  if (json) process.stdout.write(`${JSON.stringify({ revoked: id }, null, 2)}\n`)
}

const ACTOR = commandActor('token')

const LAST =
  'this is the last active token with the scope tokens, without which no other can be created or revoked over HTTP; create another one first, or add --even-last'

function tokenName(name: string | undefined): string {
  if (name === undefined) {
    throw new OperatorError('--name: say what the token is for, such as --name "label printer"', { exitCode: 2 })
  }
  const fault = faultOfTokenName(name)
  if (fault !== undefined) throw new OperatorError(`--name: ${fault}`, { exitCode: 2 })
  return name
}

function scopesOf(list: string | undefined): readonly Scope[] {
  if (list === undefined) return SCOPES.filter((scope) => scope !== 'tokens')
  const scopes = list.split(',').map((scope) => scope.trim())
  const known = scopesIn(scopes)
  if (known !== undefined) return known
  const unknown = scopes.filter((scope) => !isScope(scope))
  throw new OperatorError(`--scopes: "${unknown.join(',')}" is not among ${SCOPES.join(', ')}`, { exitCode: 2 })
}

/** Reads `90d`, `12h`, or an RFC 3339 date or time in the future. */
function expiryOf(text: string | undefined): Date | undefined {
  if (text === undefined) return undefined
  const span = /^(\d{1,5})([hd])$/.exec(text)
  const time =
    span === null ? timeIn(completeTime(text))?.getTime() : Date.now() + Number(span[1]) * hours(span[2]) * 3.6e6
  if (time === undefined || time <= Date.now()) {
    throw new OperatorError(
      `--expires: "${text}" is not a time in the future up to the year 9999, such as 90d, 12h or 2030-12-31`,
      {
        exitCode: 2,
      },
    )
  }
  return new Date(time)
}

/** Adds seconds that are left out, or a time of day that is left out, which is then midnight in UTC. */
const completeTime = (text: string): string =>
  /^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00:00Z` : text.replace(/^(\S{10}T\d{2}:\d{2})(?=Z|[+-])/, '$1:00')

const hours = (unit: string | undefined): number => (unit === 'd' ? 24 : 1)

const timesOf = ({ createdAt, expiresAt, lastUsedAt, revokedAt }: Token): string[] =>
  [createdAt, expiresAt, lastUsedAt, revokedAt].map((date) => date?.toISOString().replace(/\.\d+Z/, 'Z') ?? 'never')

function table(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? []
  return rows
    .map(
      (row) =>
        `${row
          .map((cell, i) => cell.padEnd(widths[i] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('')
}
