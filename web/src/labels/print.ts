import type { Sheet } from './sheets.ts'

/**
 * Makes the pages that the browser prints as large as the sheet, until the function that it returns is called. The page has
 * no inline styles, which its policy forbids.
 */
export function preparePage({ width, height }: Sheet): () => void {
  const styles = new CSSStyleSheet()
  styles.replaceSync(`@page { size: ${width}mm ${height}mm; margin: 0 }`)
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, styles]
  return () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((each) => each !== styles)
  }
}
