import { GroupCommit } from '../base/group-commit.ts'
import { TOKEN_COLUMNS, type Token, type TokenStore, tokenIn } from '../domain/token.ts'
import { createToken, exportTokens, IS_MANAGER, issueToken, listTokens, revokeToken } from '../records/tokens.ts'
import type { PoolShare } from './pool/pool-share.ts'
import { runSteps } from './rows.ts'

/** Rows are locked in one order, so that tokens that rotate or revoke each other do not deadlock. */
export function postgresTokens(share: PoolShare): TokenStore {
  const finds = new GroupCommit<Buffer, Token | undefined>((hashes) => findAll(share, hashes), {
    // HTTP bounds the number of requests, and each has at most one look-up.
    maxWaiting: Number.POSITIVE_INFINITY,
    maxGroup: 1000,
    maxInFlight: 1,
  })
  return {
    createToken: (token, hash) => runSteps(share.run, createToken(token, hash)),

    /**
     * Locks the row of the creator: a revocation of it waits for the end of this transaction, or this transaction sees
     * it. Transactions that run at the same time do not see each other's tokens, so they may exceed the bound by a few.
     */
    issueToken(token, hash, options) {
      const { creator, rotates } = options
      const ids = [creator, rotates?.id].filter((id) => id !== undefined)
      const lock = rotates === undefined ? 'SHARE' : 'UPDATE'
      const text = `SELECT FROM tokens WHERE id = ANY ($1::text[]) ORDER BY id FOR ${lock}`
      return share.transaction('BEGIN', async (run) => {
        if (ids.length > 0) await run({ text, values: [ids] })
        return runSteps(run, issueToken(token, hash, options))
      })
    },

    /** Concurrent look-ups share a statement, so a flood of unknown tokens costs the database little. */
    findToken: (hash) => finds.submit(hash),

    listTokens: (page = {}) => runSteps(share.run, listTokens(page)),

    exportTokens: () => runSteps(share.run, exportTokens("encode(hash, 'hex')")),

    async touchToken(id, usedAt) {
      await share.run({ text: 'UPDATE tokens SET last_used_at = $2 WHERE id = $1', values: [id, usedAt.getTime()] })
    },

    /** Locks all active tokens with the scope `tokens`: of two that revoke each other, the second sees the result. */
    revokeToken(id, sparesLast = false) {
      const now = Date.now()
      // With the token itself: a rotation locks it and its creator in this order.
      const text = `SELECT FROM tokens WHERE id = $2 OR ($3 AND ${IS_MANAGER}) ORDER BY id FOR UPDATE`
      return share.transaction('BEGIN', async (run) => {
        await run({ text, values: [now, id, sparesLast] })
        return runSteps(run, revokeToken(id, now, sparesLast))
      })
    },
  }
}

async function findAll(share: PoolShare, hashes: readonly Buffer[]): Promise<(Token | undefined)[]> {
  const text = `SELECT ${TOKEN_COLUMNS}, encode(hash, 'hex') FROM tokens WHERE hash = ANY ($1::bytea[])`
  const keys = hashes.map((hash) => hash.toString('hex'))
  const values = [`{${keys.map((key) => `"\\\\x${key}"`).join(',')}}`]
  const { rows } = await share.run({ name: 'find-tokens', text, values })
  const found = new Map(rows.map((row) => [row[7], tokenIn(row)]))
  return keys.map((key) => found.get(key))
}
