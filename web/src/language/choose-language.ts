import { en } from './en.ts'
import { isLanguage, type Language, primary, show } from './language.ts'
import type { Texts } from './texts.ts'

/** The page brings English; it loads another language when a person needs it. */
const LOADS: Readonly<Record<Exclude<Language, 'en'>, () => Promise<{ readonly default: Texts }>>> = {
  de: () => import('./de.js'),
  fr: () => import('./fr.js'),
  es: () => import('./es.js'),
  nl: () => import('./nl.js'),
}

/** Where the browser keeps the choice of the person. */
const KEY = 'plantstore-language'

/** Shows the language that the person has chosen in this browser, else the first one of the browser that the page has. */
export async function startLanguage(): Promise<void> {
  const wanted = [localStorage.getItem(KEY), ...navigator.languages.map(primary)]
  await load(wanted.find(isLanguage) ?? 'en')
}

/** Shows a language from now on. @throws TypeError where its texts could not be loaded */
export async function chooseLanguage(next: Language): Promise<void> {
  await load(next)
  localStorage.setItem(KEY, next)
}

async function load(next: Language): Promise<void> {
  show(next, next === 'en' ? en : (await LOADS[next]()).default)
  document.documentElement.lang = next
}
