/** The members of an object that JSON has; none of anything else. */
export const recordIn = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? { ...value } : {}

export const isText = (value: unknown): value is string => typeof value === 'string'

/** The items of an array that JSON has; none of anything else. */
export const itemsIn = <Item>(value: unknown, isItem: (each: unknown) => each is Item): readonly Item[] =>
  Array.isArray(value) ? value.filter(isItem) : []
