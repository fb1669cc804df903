import de from '../../web/src/language/de.ts'
import { en } from '../../web/src/language/en.ts'
import { show } from '../../web/src/language/language.ts'
import { DESKTOP, type Opened, PHONE, type pageTests } from './page.ts'

type InBrowser = ReturnType<typeof pageTests>

/**
 * Runs a test of the page at 360 and 1280 pixels, in English and German. `say` has the texts of its language meanwhile.
 *
 * @param run gets the number of the run, from 0, for ids of its own
 */
export function inEachLook(
  inBrowser: InBrowser,
  title: string,
  run: (opened: Opened, round: number) => Promise<void>,
  opening: Parameters<InBrowser>[2] = {},
): void {
  const looks = [PHONE, DESKTOP].flatMap((viewport) => (['en', 'de'] as const).map((locale) => ({ viewport, locale })))
  for (const [round, { viewport, locale }] of looks.entries()) {
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
