import de from '../../web/src/language/de.ts'
import { en } from '../../web/src/language/en.ts'
import { show } from '../../web/src/language/language.ts'
import { DESKTOP, type Opened, PHONE, type pageTests } from './page.ts'

type InBrowser = ReturnType<typeof pageTests>

const LOOKS = [
  { viewport: PHONE, locale: 'de' },
  { viewport: DESKTOP, locale: 'en' },
] as const

/**
 * Runs a test of the page at 360 pixels in German, which has the longer texts, and at 1280 in English. `say` has the
 * texts of its language meanwhile.
 *
 * @param run gets the number of the run, from 0, for ids of its own
 */
export function inEachLook(
  inBrowser: InBrowser,
  title: string,
  run: (opened: Opened, round: number) => Promise<void>,
  opening: Parameters<InBrowser>[2] = {},
): void {
  for (const [round, { viewport, locale }] of LOOKS.entries()) {
    const test = async (opened: Opened): Promise<void> => {
      show(locale, locale === 'de' ? de : en)
      try {
        await run(opened, round)
      } finally {
        show('en', en)
      }
    }
    inBrowser(`${title}, at ${viewport.width} pixels, ${locale}`, test, { ...opening, viewport, locale })
  }
}
