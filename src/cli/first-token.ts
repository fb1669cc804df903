import { closeSync, fsyncSync, lstatSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { syncDirectory } from '../base/new-file.ts'
import { OperatorError } from '../base/operator-error.ts'
import { commandActor } from '../domain/actor.ts'
import type { AuditLog } from '../domain/audit.ts'
import type { Store } from '../domain/store.ts'
import { makeSecret, SCOPES } from '../domain/token.ts'
import type { Config } from '../settings/config.ts'
import { fileFault } from './file-fault.ts'
import { auditedToken, issueToken } from './issue-token.ts'

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
 * @returns undefined when the store needs no token
 * A start that ends between the file and the token leaves a file whose token no store has. The next start writes another.
 *
 * @throws OperatorError when another file has the name, or the file can't be written
 */
export async function makeFirstToken(store: Store, config: Config, audit: AuditLog): Promise<FirstToken | undefined> {
  if (config.token !== undefined || (await store.tokens.listTokens({ limit: 1 })).length > 0) return undefined
  const wanted = { name: 'first', scopes: SCOPES, expiresAt: undefined }
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
  try {
    if (stat.isFile() && stat.size <= MAX_LEFTOVER && LEFTOVER.test(readFileSync(path, 'latin1'))) return
  } catch (error) {
    throw fileFault(path, error)
  }
  throw new OperatorError(`${path}: already exists and holds no access token; move it away`)
}

function writeAnew(path: string, text: string): void {
  try {
    rmSync(path, { force: true })
    const file = openSync(path, 'wx', 0o600)
    try {
      writeFileSync(file, text)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    syncDirectory(dirname(path))
  } catch (error) {
    rmSync(path, { force: true })
    throw fileFault(path, error)
  }
}
