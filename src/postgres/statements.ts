/** Parts in which a `;` does not end a statement: comments, quoted texts and names, dollar-quoted texts. */
const TOKEN = /--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|"[^"]*"|\$(\w*)\$[\s\S]*?\$\1\$|;|[^-/'"$;]+|[\s\S]/g

/**
 * The statements of an SQL file, without the comments between their words. A sharded database refuses several changes
 * of its schema in one message.
 */
export function statementsOf(sql: string): string[] {
  const statements = ['']
  for (const [token] of sql.matchAll(TOKEN)) {
    if (token === ';') statements.push('')
    else if (!/^(?:--|\/\*)/.test(token)) statements.push(`${statements.pop() ?? ''}${token}`)
  }
  return statements.map((statement) => statement.trim()).filter((statement) => statement !== '')
}
