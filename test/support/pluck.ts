/** The values of a property of each item; of several properties, a row for each item. */
export function pluck<T, K extends keyof T>(items: readonly T[], key: K): T[K][]
export function pluck<T>(items: readonly T[], ...keys: readonly [keyof T, keyof T, ...(keyof T)[]]): unknown[][]
export function pluck<T>(items: readonly T[], ...keys: readonly (keyof T)[]): unknown[] {
  const [key] = keys
  if (keys.length === 1 && key !== undefined) return items.map((item) => item[key])
  return items.map((item) => keys.map((each) => item[each]))
}
