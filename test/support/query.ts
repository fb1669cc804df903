import { Client, type QueryResultRow } from 'pg'

/** Runs one statement in the database, without the store. */
export async function query<R extends QueryResultRow>(url: string, sql: string, values: unknown[] = []): Promise<R[]> {
  const client = new Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query<R>(sql, values)).rows
  } finally {
    await client.end()
  }
}
