/**
 * Usual names of columns in the languages of the page and in others that people have sheets in, and the terms of Darwin
 * Core. The first one that a sheet has counts.
 */
const NAMES = {
  id: `id|plant id|plantid|#|nr|no|n|n o|num|number|nummer|numero|plant number|plant no|accession|accession number
    |accession no|acc no|acc num|code|id nr|pflanzennummer|pflanzen nr|pflanzennr|inventarnummer|inventar nr|akzession
    |akzessionsnummer|akzessions nr|lfd nr|identifiant|numero d accession|numero d inventaire|identificador
    |numero de accesion|numero de inventario|codigo|plantnummer|plant nr|accessienummer|accessie|inventarisnummer
    |identificativo|numero di accessione|numero di inventario|codice|numer|sıra no|αριθμός|номер|番号|编号|編號|序号|번호
    |gbif id|catalog number|catalogue number`,
  /** The whole name. */
  name: `name|plant name|botanical name|scientific name|accepted name|calculated full name|taxon full name|scientific name full|latin name|full name|binomial|botanic name|taxa|taxon|taxon name|plant|names
    |plants|plant names|pflanzenname|botanischer name|wissenschaftlicher name|lateinischer name|name botanisch|bot name
    |wiss name|lat name|botanisch|lateinisch|gattung art|gattung art sorte|pflanze|pflanzen|pflanzennamen|bezeichnung
    |nom|noms|nom scientifique|nom botanique|nom latin|nom de la plante|plante|plantes|nombre|nombres
    |nombre cientifico|nombre botanico|nombre latino|nombre de la planta|planta|plantas|naam|namen
    |wetenschappelijke naam|botanische naam|latijnse naam|plantnaam|planten|nome|nomi|nome scientifico|nome botanico
    |nome latino|nome della pianta|pianta|piante|nome cientifico|nazwa łacińska|nazwa botaniczna|nazwa|roślina
    |latince adı|bilimsel adı|bitki adı|bitki|επιστημονικό όνομα|λατινικό όνομα|όνομα|φυτό|латинское название
    |научное название|название|наименование|растение|学名|植物名|植物名称|植物名稱|拉丁名|拉丁学名|名称|名稱|品名|학명
    |식물명|이름|item name|hb name|latin|scientific|wetenschappelijk|latijn|latein|cientifico|scientifique|latinskt namn|vetenskapligt namn|växt
    |växtnamn|latinsk navn|latinsk navn|videnskabeligt navn|vitenskapelig navn|plante navn|tieteellinen nimi|latinsky nazev
    |vedecky nazev|rostlina|latinsky nazov|vedecky nazov|rastlina|latin nev|tudomanyos nev|noveny|denumire stiintifica
    |denumire latina|planta|latinsko ime|znanstveno ime|латинска назва|наукова назва|рослина|nama|nama ilmiah|nama latin
    |nama tanaman|tanaman|tên khoa học|tên cây|الاسم العلمي|اسم النبات|نام علمی|नाम|वैज्ञानिक नाम|שם מדעי`,
  genus:
    'genus|genus name|gattung|gattungsname|genre|genre bota|genre botanique|genero|geslacht|geslachtsnaam|genere|rodzaj|cins|γένος|род|属|属名|속',
  species: `species|species name|species list|plant list|pflanzenliste|artenliste|lista de plantas|liste des plantes|plantenlijst|especies|especes|arten|pflanzenart|soorten|gatunki|виды|druh|laji|specific epithet|species epithet|epithet|art|artname|artepitheton|espece|epithete
    |especie|epiteto|soort|soortnaam|specie|gatunek|tür|είδος|вид|种|種|种加词|種小名|종`,
  /** Such as `×`, before the part of the name that follows. */
  hybrid:
    'hybrid|hybrid mark|hybrid marker|hybrid symbol|genus hybrid|genus hybrid marker|species hybrid|hybrid flag|hybride|hyb',
  /** Such as `var.` or `subsp.`, before the epithet. */
  rank: `rank|infraspecific rank|infra rank|infrasp rank|infraspecies rank|isp rank|rank 1|infraspecific marker|rang|rango
    |taxon rank|verbatim taxon rank|name rank|taxonomic rank`,
  subspecies: `subspecies|subsp|ssp|sub spp|infraspecific|infraspecific name|infraspecific epithet|infra epithet
    |infrasp epithet|infraspecies|infra name|isp name|sub species name|epithet 1|subtaxa|subtaxon|unterart|subspezies
    |sous espece|subespecie|ondersoort|sottospecie|подвид|亚种|亜種`,
  cultivar: `cultivar|cultivar name|variete ou cultivar|cultivar epithet|cv|variety|sorte|sortenname|kultivar|variete|variedad|cultivar naam
    |ras|varieteit|varieta|odmiana|çeşit|ποικιλία|сорт|品种|品種|품종`,
  /** A name that stands for the whole one where nothing better does. */
  common: `common name|vegetable|crop|crop name|kultur|trivial name|vernacular name|english name|deutscher name|dt name|deutsch|trivialname|volksname
    |nom commun|nom vernaculaire|nom francais|nombre comun|nombre vulgar|nederlandse naam|nome comune|nome volgare
    |nazwa polska|english|dutch|nederlands|german|french|francais|spanish|espanol|local name|türkçe adı|κοινό όνομα|русское название|和名|中文名|俗名|국명|product|product name|item|artikel|artikelname
    |article|articulo|articolo|produkt|produit|producto|prodotto`,
  /** A place, else a kind. */
  tag: `tag|tags|plant tag|schlagwort|location|place|bed|standort|beet|ort|emplacement|lieu|loc now|ubicacion|lugar
    |locatie|plaats|standplaats|vak|posizione|luogo|loc|loc code|locality|garden location|section|greenhouse
    |quartier|abteilung|serre|parterre|bancal|kas|miejsce|yer|konum|θέση|место|участок|場所|位置|区画|위치|장소|location code
    |hb location|place guess|current location|current location full|location full|plant location|item location
    |location name|house|bench|area|plot|border|garden|room|raum|zimmer|salle|sala|site|secteur|sector|sektor
    |settore|bg location|type|kind|category|group|label|kategorie|typ|gruppe|categorie|groupe|categoria|tipo|grupo|groep|gruppo
    |kategoria|категория|分类|category name|zone|etiquette|etiqueta|etichetta`,
} as const

export type Meaning = keyof typeof NAMES

const MEANINGS = Object.entries(NAMES).map(
  ([meaning, names]) => [meaning as Meaning, names.split('|').map((name) => joined(folded(name)))] as const,
)

/** The names of columns with a meaning, as `folded` and `joined` leave them, the usual ones first. */
export const NAMES_OF: ReadonlyMap<Meaning, readonly string[]> = new Map(MEANINGS)

const MEANING_OF: ReadonlyMap<string, Meaning> = new Map(
  MEANINGS.flatMap(([meaning, names]) => names.map((name) => [name, meaning] as const)),
)

/**
 * The known name that the name of a column stands for: itself, one without "plant", or one of two as in "Cultivar /
 * Variety", each without blanks; else what `folded` leaves.
 */
export function keyOf(column: string): string {
  const key = folded(column)
  if (column.length > LONGEST) return key
  if (MEANING_OF.has(joined(key))) return joined(key)
  const bare = joined(key.replace(/^(?:plant|taxon|tree|flower|crop|seed) /, ''))
  if (MEANING_OF.has(bare) && (MEANING_OF.get(bare) !== 'id' || key.startsWith('plant'))) return bare
  const parts = column.split('/').map((part) => joined(folded(part)))
  const means = (...meanings: readonly Meaning[]) =>
    parts.find((part) => meanings.includes(MEANING_OF.get(part) ?? 'id'))
  if (means('genus') !== undefined && means('species') !== undefined) return 'scientificname'
  return means('name') ?? means('genus', 'species', 'cultivar') ?? means('common', 'tag') ?? key
}

/** Whether the name of a column says that it has names, of plants as far as one can tell. */
export const isNamelike = (key: string): boolean => NAMELIKE.test(key) && !OF_PEOPLE.test(key)
const NAMELIKE =
  /(?:^| )(?:name|species|especie|espece|taxon|nom|nombre|nome|naam|namn|navn|nazwa|nama|имя|название|назва)(?: |$)/
const OF_PEOPLE =
  /family|order|class|count|number|code|status|author|user|file|site|owner|collector|recorder|observer|customer|supplier|vendor|donor|country|county|region|first|last|sur|nick|street|park|image|photo|sheet|group|category|location|place|garden|project/

/** Characters of a text that may be more than a text. Patterns that look for the end of a long one could take hours. */
export const LONGEST = 200

/** What a column with this name usually holds. */
export const meaningOf = (cell: string | undefined): Meaning | undefined =>
  cell === undefined || cell.length > LONGEST ? undefined : MEANING_OF.get(joined(folded(cell)))

/** Whether a text is a name of a column as it stands: to fold the names of 50,000 plants would take 0.1 s. */
export const isColumnName = (text: string): boolean => MEANING_OF.has(joined(text.trim().toLowerCase()))

/** Whether cells are names of columns, not those of a plant: at least two, with different meanings, and half of all. */
export function areColumnNames(cells: readonly (string | undefined)[]): boolean {
  const filled = cells.filter((cell) => cell !== undefined && cell.trim() !== '')
  const meanings = filled.flatMap((cell) => (isFlag(cell ?? '') ? [] : (meaningOf(cell) ?? [])))
  return new Set(meanings).size > 1 && 2 * meanings.length >= filled.length
}

const FLAGS: ReadonlySet<string> = new Set(
  `yes|no|y|n|x|true|false|ja|nein|j|wahr|falsch|oui|non|o|vrai|faux|si|s|verdadero|falso|nee|waar|onwaar|tak|nie|evet
    |hayır|ναι|όχι|да|нет|はい|いいえ|有|無|无|是|否|예|아니오`
    .split('|')
    .map(folded),
)

/** Whether a cell says yes or no. `N` and `No` name a column of numbers as well. */
export const isFlag = (cell: string): boolean => FLAGS.has(folded(cell))

/** What programs write for an empty cell: R, pandas, SQL, Python, MySQL, JavaScript and people. */
const NO_VALUES: ReadonlySet<string> = new Set('na|n/a|<na>|null|(null)|none|nan|nil|\\n|-|--|–|—|...|…'.split('|'))
const LONGEST_NO_VALUE = 12

/** Whether a text may stand for an empty cell. */
export const isNoValue = (text: string): boolean =>
  text.length <= LONGEST_NO_VALUE && NO_VALUES.has(text.trim().toLowerCase())

/** Words that begin the row of a sum in English, German, French, Spanish, Dutch and Italian. */
const SUMS: ReadonlySet<string> = new Set(
  `total|totals|grand total|subtotal|sub total|sum|total plants|plants total|summe|summen|gesamt|gesamtsumme|insgesamt
    |zwischensumme|gesamt pflanzen|pflanzen gesamt|somme|total general|sous total|suma|totaal|eindtotaal|subtotaal|som
    |totale|totale generale|somma|subtotale`
    .split('|')
    .map(folded),
)

/** Characters of a text that may be a sum. */
const LONGEST_SUM = 40

/** Whether a name is what a row of sums has in place of one. What stands in brackets is no remark, but a part of it. */
export const isSum = (name: string): boolean =>
  name.length <= LONGEST_SUM &&
  SUMS.has(
    folded(name.replaceAll(/\p{P}/gu, ' '))
      .replaceAll(/[ \p{N}]+/gu, ' ')
      .trim(),
  )

/**
 * Takes away case, accents, punctuation, a remark in brackets, a namespace such as `dwc:` and a kind of dBase such as
 * `,C,80`, and parts words such as `plantName`. Marks go before the decomposition too, which sorts each run of them by
 * insertion.
 */
export function folded(text: string): string {
  if (text.trim() === '#') return '#'
  return text
    .replaceAll(/\p{M}/gu, '')
    .normalize('NFKD')
    .replaceAll(/\p{M}|\([^)]{0,200}\)|^\p{L}+:(?=\p{L})|,[A-Z](?:,\d+){1,2}$/gu, '')
    .replaceAll(/(\p{Ll})(?=\p{Lu})/gu, '$1 ')
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
    .toLowerCase()
}

/** Takes away blanks, as databases fold `specificEpithet` to `specificepithet`. */
function joined(key: string): string {
  return key.replaceAll(' ', '')
}

/** The words and abbreviations of ranks below the species, as names of plants have them. */
const RANKS: ReadonlyMap<string, string> = new Map(
  (
    [
      ['subsp.', 'subspecies|subsp|ssp|unterart|sous-espèce|subespecie|ondersoort'],
      ['var.', 'variety|varietas|var|varietät|variété|variedad|variëteit'],
      ['subvar.', 'subvariety|subvarietas|subvar'],
      ['f.', 'form|forma|f|fo'],
      ['subf.', 'subform|subforma|subf'],
    ] as const
  ).flatMap(([mark, words]) => words.split('|').map((word) => [word, mark] as const)),
)
const LONGEST_RANK = 20
const HIGHER: ReadonlySet<string> = new Set(
  'species|genus|family|order|class|phylum|kingdom|unranked|cultivar|hybrid|art|gattung|espèce|genre|especie|género|soort|geslacht'.split(
    '|',
  ),
)

/** The mark of a rank by its word: empty for one from the species on, which no name has; undefined for no such word. */
export function rankMark(text: string): string | undefined {
  if (text.length > LONGEST_RANK) return undefined
  const key = text.toLowerCase().replace(/\.$/, '')
  return RANKS.get(key) ?? (HIGHER.has(key) ? '' : undefined)
}

/** Whether a text is a cultivar without the quotation marks that make it one (ICNCP, article 14). */
export const isBareCultivar = (text: string): boolean =>
  /^\p{Lu}[^'"‘’“”„«»®™×]*$/u.test(text) && !/\b(?:Group|Gruppe|Groupe|Grex|Series)$/.test(text)
