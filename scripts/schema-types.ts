/** The part of a JSON Schema that types need. */
export interface Schema {
  readonly description?: string
  readonly type?: string | readonly string[]
  readonly format?: string
  readonly default?: unknown
  readonly enum?: readonly string[]
  readonly items?: Schema & { readonly $ref?: string }
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: boolean | (Schema & { readonly $ref?: string })
}

/** A parameter of OpenAPI. */
export interface ParameterObject {
  readonly name: string
  readonly in: string
  readonly description?: string
  readonly required?: boolean
  readonly schema: Schema
}

/** The type of an array of items of a type. */
export const arrayOf = (item: string): string => `readonly ${item.includes(' | ') ? `(${item})` : item}[]`

/** The type of an object whose members have any names and values of a type. */
export const mapOf = (value: string): string => `Readonly<Record<string, ${value}>>`

/** The type of a string that has one of these values. */
export const oneOf = (values: readonly string[]): string => values.map((value) => `'${value}'`).join(' | ')
