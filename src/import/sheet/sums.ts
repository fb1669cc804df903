/** Words that begin the row of a sum in English, German, French, Spanish, Dutch and Italian, as `folded` leaves them. */
const SUMS: ReadonlySet<string> = new Set(
  `total|totals|grand total|subtotal|sub total|sum|total plants|plants total|summe|summen|gesamt|gesamtsumme|insgesamt
  |zwischensumme|gesamt pflanzen|pflanzen gesamt|somme|total general|sous total|suma|totaal|eindtotaal|subtotaal|som
  |totale|totale generale|somma|subtotale`
    .split('|')
    .map((word) => word.trim()),
)

/** Takes away case, accents, digits and punctuation. */
const folded = (text: string): string =>
  text
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^\p{L}]+/gu, ' ')
    .trim()
    .toLowerCase()

/** Characters of a text that may be a sum. To fold a long text with many marks takes long. */
const LONGEST = 40

/** Whether a name is what a row of sums has in place of one. */
export const isSum = (name: string): boolean => name.length <= LONGEST && SUMS.has(folded(name))
