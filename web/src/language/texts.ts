import type { en, Plural, Text } from './en.ts'

export type Key = keyof typeof en

/** The texts of one language. */
export type Texts = Readonly<Record<Key, Text>>

/** The names of the placeholders in a text, such as `name` in `Sign in as {name}`, and `count` for a plural. */
export type Names<T> = T extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Names<Rest>
  : T extends Plural
    ? 'count' | Names<T['one'] | T['other']>
    : never

type English<K> = K extends Key ? (typeof en)[K] : never

/** The keys of texts without placeholders. */
export type PlainKey = { readonly [K in Key]: [Names<English<K>>] extends [never] ? K : never }[Key]

type IsSame<A, B> = [A, B] extends [B, A] ? true : false

/** What a translation must be: each text of the English catalog with the same placeholders, and no other text. */
type Fitting<T> = { readonly [K in Key]: K extends keyof T ? FittingText<English<K>, T[K]> : Text } & {
  readonly [K in Exclude<keyof T, Key>]: never
}

type FittingText<E, T> =
  IsSame<Names<E>, Names<T>> extends true ? (E extends string ? string : Plural) : { readonly placeholders: Names<E> }

/** Makes the catalog of a language other than English. It has no type unless it has every text and placeholder. */
export const catalog = <const T extends Readonly<Record<string, Text>>>(texts: T & Fitting<T>): Texts => texts
