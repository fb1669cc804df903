import type { Config } from '../config.ts'
import { OperatorError } from '../operator-error.ts'
import { isScope, SCOPES, type Scope, type Token } from '../token.ts'
import { issueToken } from './issue-token.ts'
import { withStore } from './open-store.ts'

export interface CreateFlags {
  readonly name: string
  readonly scopes: string | undefined
  readonly expires: string | undefined
}

/** Prints the secret alone on standard output, so that it can be piped; what a person has to know goes beside it. */
export async function createToken(config: Config, flags: CreateFlags): Promise<void> {
  const token = { name: tokenName(flags.name), scopes: scopesOf(flags.scopes), expiresAt: expiryOf(flags.expires) }
  const secret = await withStore(config.store, { create: true }, (store) => issueToken(store.tokens, token))
  process.stderr.write('The token is shown only once; the store keeps only its hash.\n')
  process.stdout.write(`${secret}\n`)
}

export async function listTokens(config: Config): Promise<void> {
  const tokens = await withStore(config.store, { create: false }, (store) => store.tokens.listTokens())
  const rows = tokens.map((token) => [token.id, token.name, token.scopes.join(','), ...timesOf(token)])
  process.stdout.write(table([['ID', 'NAME', 'SCOPES', 'CREATED', 'EXPIRES', 'LAST USED', 'REVOKED'], ...rows]))
}

export async function revokeToken(config: Config, id: string): Promise<void> {
  const found = await withStore(config.store, { create: false }, (store) => store.tokens.revokeToken(id))
  if (!found) throw new OperatorError(`there is no active token ${id}; "plantstore token list" lists all tokens`)
  process.stderr.write(`Revoked ${id}; it stops working within a second.\n`)
}

function tokenName(name: string): string {
  // Control and direction characters would let a name disguise itself in the list on a terminal.
  if (name.length === 0 || name.length > 100 || /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(name)) {
    throw new OperatorError('--name: must have 1 to 100 characters, none of them a control character', { exitCode: 2 })
  }
  return name
}

function scopesOf(list: string | undefined): readonly Scope[] {
  if (list === undefined) return SCOPES.filter((scope) => scope !== 'tokens')
  const scopes = list.split(',').map((scope) => scope.trim())
  const unknown = scopes.filter((scope) => !isScope(scope))
  if (unknown.length > 0) {
    throw new OperatorError(`--scopes: "${unknown.join(',')}" is not among ${SCOPES.join(', ')}`, { exitCode: 2 })
  }
  return SCOPES.filter((scope) => scopes.includes(scope))
}

/** From `90d`, `12h` or an RFC 3339 date or time in the future. */
function expiryOf(text: string | undefined): Date | undefined {
  if (text === undefined) return undefined
  const span = /^(\d{1,5})([hd])$/.exec(text)
  const isDate = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2})?(Z|[+-]\d{2}:\d{2}))?$/.test(text)
  const time =
    span === null ? (isDate ? Date.parse(text) : Number.NaN) : Date.now() + Number(span[1]) * hours(span[2]) * 3.6e6
  if (!(time > Date.now())) {
    throw new OperatorError(`--expires: "${text}" is not a time in the future, such as 90d, 12h or 2030-12-31`, {
      exitCode: 2,
    })
  }
  return new Date(time)
}

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
