/** Returns the same JSON with every character inside its strings as \uXXXX. */
export function allEscaped(json: string): string {
  return json.replaceAll(/"((?:[^"\\]|\\.)*)"/gs, (literal) => {
    const value = JSON.parse(literal) as string
    const units = Array.from({ length: value.length }, (_, i) => value.charCodeAt(i))
    return `"${units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')}"`
  })
}
