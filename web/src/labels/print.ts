import type { Sheet } from './sheets.ts'

/**
 * Sets the size of printed pages to that of the sheet. It uses a constructed style sheet, because the content security
 * policy of the page forbids inline styles.
 *
 * @returns a function that undoes this
 */
export function preparePage({ width, height }: Sheet): () => void {
  const styles = new CSSStyleSheet()
  styles.replaceSync(`@page { size: ${width}mm ${height}mm; margin: 0 }`)
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, styles]
  return () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((each) => each !== styles)
  }
}
