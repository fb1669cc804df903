import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { chooseLanguage } from './choose-language.ts'
import { LANGUAGES, type Language, language, say } from './language.ts'

/** Lets the person choose the language of the page. */
export function LanguageMenu(): JSX.Element {
  const isFailed = useSignal(false)
  const choose = async (field: HTMLSelectElement) => {
    isFailed.value = false
    try {
      await chooseLanguage(field.value as Language)
    } catch {
      isFailed.value = true
      field.value = language.value
    }
  }
  return (
    <span class="language">
      <select
        aria-label={say('language.title')}
        value={language.value}
        onChange={(event) => void choose(event.currentTarget)}
      >
        {Object.entries(LANGUAGES).map(([code, name]) => (
          <option key={code} value={code} lang={code}>
            {name}
          </option>
        ))}
      </select>
      {isFailed.value && <span role="alert">{say('language.failed')}</span>}
    </span>
  )
}
