import { computed, signal } from '@preact/signals-core'
import { en } from './en.ts'
import type { Key, Names, PlainKey, Texts } from './texts.ts'

/** The languages of the page, each by its own name. */
export const LANGUAGES = { en: 'English', de: 'Deutsch', fr: 'Français', es: 'Español', nl: 'Nederlands' } as const

export type Language = keyof typeof LANGUAGES

const shown = signal<{ readonly language: Language; readonly texts: Texts }>({ language: 'en', texts: en })

/** The language of the page. */
export const language = computed(() => shown.value.language)

/**
 * The language with the region that the browser names: numbers and dates of Austria are not those of Germany. Chromium
 * names the locale of a machine without one `en-US@posix`, which Intl refuses.
 */
const locale = computed(() => {
  const regions = navigator.languages.filter((each) => /^[a-z\d-]+$/i.test(each))
  return regions.find((each) => primary(each) === language.value) ?? language.value
})

/** `en` of `en-GB` */
export const primary = (tag: string): string => tag.toLowerCase().split('-')[0] ?? ''

export const isLanguage = (tag: string | null): tag is Language => tag !== null && Object.hasOwn(LANGUAGES, tag)

/** Shows a language from now on. */
export function show(next: Language, texts: Texts): void {
  shown.value = { language: next, texts }
}

type Values<K extends Key, V> = { readonly [Name in Names<(typeof en)[K]>]: Name extends 'count' ? number : V }

/** The values of the placeholders, as a further argument of a text that has some. */
export type Given<K extends Key, V> = [Names<(typeof en)[K]>] extends [never] ? [] : [values: Values<K, V>]

/** Returns a text in the language of the page. A value that is a number is written as the language writes it. */
export function say<K extends Key>(key: K, ...[values]: Given<K, string | number | bigint>): string {
  return partsOf(key, values).join('')
}

/** Says what a text is about, such as `Delete: 7`. */
export const sayOf = (key: PlainKey, of: string | number | bigint): string => say('page.about', { what: say(key), of })

/** Divides a text at its values. */
export function partsOf<V>(key: Key, values: Readonly<Record<string, V>> = {}): readonly (V | string)[] {
  const text = shown.value.texts[key]
  const form =
    typeof text === 'string' ? text : text[rules.value.select(Number(values['count'])) === 'one' ? 'one' : 'other']
  return form.split(/\{(\w+)\}/).map((part, i) => {
    if (i % 2 === 0) return part
    const value = values[part] as V
    return typeof value === 'number' ? numberOf(value) : value
  })
}

const rules = computed(() => new Intl.PluralRules(locale.value))
const number = computed(() => new Intl.NumberFormat(locale.value))
const megabytes = computed(() => {
  const digits = { maximumFractionDigits: 1, minimumFractionDigits: 1 }
  return new Intl.NumberFormat(locale.value, { style: 'unit', unit: 'megabyte', ...digits })
})
const list = computed(() => new Intl.ListFormat(locale.value))
const times = computed(() => ({
  short: new Intl.DateTimeFormat(locale.value, { dateStyle: 'medium', timeStyle: 'short' }),
  medium: new Intl.DateTimeFormat(locale.value, { dateStyle: 'medium', timeStyle: 'medium' }),
  day: new Intl.DateTimeFormat(locale.value, { dateStyle: 'medium' }),
}))

export const numberOf = (value: number): string => number.value.format(value)

/** `1.5 MB` for bytes. */
export const megabytesOf = (bytes: number): string => megabytes.value.format(bytes / 1_000_000)

/** `one, two and three` */
export const listOf = (items: readonly string[]): string => list.value.format(items)

const languageNames = computed(() => new Intl.DisplayNames([locale.value], { type: 'language' }))

/** The name of a language, in the language of the page. @param tag such as `el` */
export const languageName = (tag: string): string => languageNames.value.of(tag) ?? tag

/** @param time as the service writes it, or milliseconds since 1970 @param style `medium` has seconds */
export const timeOf = (time: string | number, style: 'short' | 'medium'): string =>
  times.value[style].format(new Date(time))

/** A day, as people of this language write it. */
export const dateOf = (time: Date): string => times.value.day.format(time)
