import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { RowPlant } from '../../../src/import/sheet/sheet-plants.ts'
import { SHEETS as FILES, readAsPage } from '../../support/sheets.ts'

/**
 * Sheets as people have them, each with what is hard in it, and what the page must make of it: the row with the names of
 * columns, the columns of the ids, the names and the tags → the plants, each with its id, and its tag in brackets.
 */
const SHEETS = String.raw`
backslash.csv (1 refused), row 1: - | Name | Bed → Rosa glauca (B2)
bars-with-inches.csv (no quotation marks), row 1: - | Scientific name | Kind →
  Achillea millefolium (Perennial) | Allium schoenoprasum (Herb) | Liatris spicata (Perennial)
capitals.csv, row 1: - | ESPECIE | LUGAR →
  APIUM GRAVEOLENS (INVERNADERO 1) | DELOSPERMA COOPERI (ROCALLA) | CYCLAMEN PERSICUM (INVERNADERO 2)
chinese.csv (gb18030), row 1: 编号 | 学名 | 位置 →
  1 Ginkgo biloba (东门) | 2 Metasequoia glyptostroboides (湖边) | 3 Osmanthus fragrans (温室)
city-trees.csv, row 1: - | art_bot | - → Populus nigra 'Italica' | Tilia cordata | Acer platanoides
collection-base.csv, row 1: - | NAME | LOC_CODE →
  Rhododendron luteum Sweet (RG1) | Rhododendron luteum Sweet (RG2) | Trillium grandiflorum (Michx.) Salisb. (WG3)
comments.csv, row 3: - | Name | Bed → Acer palmatum (B1) | Rosa glauca (B2)
coordinates.csv, row 1: id | taxon.name | place_guess →
  9001 Euphorbia resinifera (Fribourg) | 9002 Echeveria elegans (Bern)
darwin-core.csv, row 1: catalogNumber | scientificName | locality →
  20010123 Ginkgo biloba L. (Arboretum, north) | 20010124 Taxodium distichum (L.) Rich. (Pond)
  20010125 Larix decidua Mill. (Pond)
dates.xlsx, row 1: Nr | Name | - → 1 Acer palmatum | 2 Rosa glauca | 3 Ilex
days-from-1904.xlsx, row 1: - | Name | - → Acer palmatum | Rosa glauca
dots.csv, row 1: - | genus + species + sub.spp | - → Bromus madritensis rubens | Bromus madritensis madritensis
dutch.csv, row 1: Nummer | Wetenschappelijke naam | Vak → 1 Ulmus laevis (A1) | 2 Salix alba (A1) | 3 Tilia cordata (B2)
dwc-atomised.csv, row 1: - | genus + specificEpithet + taxonRank + infraspecificEpithet + cultivarEpithet | locality →
  Acer palmatum var. dissectum (Bed 1) | Rosa glauca (Bed 2) | Hosta sieboldiana 'Elegans' (Bed 3)
  Rosa gallica subsp. gallica ‘Officinalis’ (Bed 3) | Brassica oleracea Capitata Group (Bed 4)
either-name.csv, row 1: - | Plant Name / Genus + Cultivar / Variety | - → Bluestem The Blues | Chokeberry Low Mound
errors.xlsx (3 refused), row 1: Nr | Name | Bed → 1 Acer palmatum (B1)
faulty-utf8.csv (1 refused), row 1: - | Name | Beet → Häberlea (Süd) | Ölweide (Höhe)
filed-as.csv, row 1: - | FiledAs | Room →
  Polygala vulgaris L. (123) | Anthospermum ferrugineum Eckl. & Zeyh. (123)
  Gentianella campestris var. suecica (Froel.) Dostal (124)
float-ids.csv (1 refused), row 1: id | name | tag → 101 Acer palmatum (B1) | 102 Rosa glauca
formula-id.xlsx (3 refused), row 1: Nr | Name | Bed
formula-name.xlsx (3 refused), row 1: Nr | Name | Bed
formula-tag.xlsx (3 refused), row 1: Nr | Name | Bed
french-macintosh.csv (macintosh), row 1: N° | Nom scientifique | Emplacement →
  1 Fagus sylvatica (allée côté forêt) | 2 Castanea sativa (allée) | 3 Acer pseudoplatanus (étang)
fruit.csv, row 1: - | species_latin + name | - →
  Prunus dulcis Nonpareil | Prunus dulcis Mission | Persea americana Hass | Persea americana Fuerte
gbif-occurrences.tsv (no quotation marks), row 1: gbifID | scientificName | locality →
  4011 Abies alba Mill. ("La Pena) | 4012 Quercus robur L. (along the path) | 4013 Rosa canina L. ("Old mill" meadow)
  4014 Betula pendula Roth (Spring, "upper) | 4015 Fagus sylvatica L. (15" below the wall)
  4016 Taxus baccata L. (churchyard")
genus-above.csv (2 refused), row 1: - | Genus + Species | Location →
  Acer palmatum (B1) | Acer campestre (B2) | Rosa glauca (B3) | Rosa canina (B3)
german.csv (windows-1252), row 1: Nr. | Gattung + Art + Sorte | Standort →
  1 Salvia nemorosa Caradonna (Beet 7) | 2 Geranium ×cantabrigiense Biokovo (Beet 7) | 3 Häberlea ferdinandi (Tröge)
greek.csv (windows-1253), row 1: Αριθμός | Επιστημονικό όνομα | Θέση →
  1 Olea europaea (κήπος) | 2 Quercus coccifera (λόφος) | 3 Platanus orientalis (ρέμα)
guarded.csv, row 1: - | Name | Bed → '+Laburnocytisus adamii ('-3) | '=Bed list (B1) | Tilia cordata ('@gate)
head-needs.csv, row 1: - | Scientific name | - → Amorphophallus titanum | Cephalotus follicularis | Phormium tenax
herbarium.csv, row 1: - | Taxon | - → Gentiana acaulis | Gentiana verna | Soldanella alpina
homebox.csv, row 1: - | HB.name | HB.location →
  Acer palmatum (Greenhouse / Bench 1) | Rosa glauca (Greenhouse / Bench 2)
hortusfox.csv, row 1: id | name | location → 1 Monstera deliciosa (Living room) | 2 Ficus elastica (Office)
house-plants.csv, row 1: - | Latin | Room →
  Monstera deliciosa (Living room) | Ficus elastica (Office) | Dracaena trifasciata (Bedroom)
html-cells.csv, row 1: - | Name | Bed →
  <i>Acer palmatum</i> Thunb. (B1) | Rosa &amp; Co (B2) | <a href="x">Ilex</a> aquifolium (B2)
hybrid-symbols.csv, row 1: - | Genus Hybrid Symbol + Genus + Species Hybrid Symbol + Species + Infraspecific Rank + Infraspecific Epithet + Cultivar | - →
  Acer palmatum var. dissectum Garnet | × Cuprocyparis leylandii Castlewellan | Magnolia × soulangeana
hybrids.csv, row 1: - | Hybrid + Genus + Species + Rank + Epithet 1 + Cultivar | Bed →
  × Cuprocyparis leylandii (B1) | Acer palmatum var. dissectum (B1) | Magnolia soulangeana 'Elegans' (B2)
id-blank.csv, row 1: - | nombre | ubicacion → Salvia officinalis (Caja 5) | Rosa canina (Caja 3)
ids-odd.csv, row 1: - | name | tag →
  Acer palmatum (B1) | Rosa glauca (B1) | Ilex aquifolium (B1) | Tilia cordata (B1) | Fagus sylvatica (B1)
  Cornus mas (B1) | Taxus baccata (B1) | Salix alba (B1) | Abies alba (B1)
inat.csv, row 1: id | scientific_name | place_guess →
  300000001 Acer palmatum (Bed 3, Kew) | 300000002 Rosa glauca (Bed 4, Kew)
inches.csv (1 refused), row 1: Nr | Name | - →
  1 Rosa glauca | 2 Acer palmatum 10" x 12" | 3 Rosa "Peace" | 5 Tilia, small
index-seminum.csv (6 refused), row 0: Column A | Column B | - →
  1 Abies alba Mill. | 2 Picea abies (L.) H.Karst. | 3 Achillea millefolium L. | 4 Arnica montana L.
inventree.csv, row 1: id | name | category_name → 1 Acer palmatum (Trees) | 2 Rosa glauca (Shrubs)
irisbg.csv, row 1: - | TaxonName | LocationCode → Acer palmatum 'Osakazuki' (G1-02) | Rosa glauca (G1-03)
japanese.csv (shift_jis), row 1: 番号 | 学名 | 場所 →
  1 Cerasus × yedoensis (正門前) | 2 Acer palmatum (池のほとり) | 3 Camellia japonica (生け垣)
joined-bom.csv (1 refused), row 1: - | Name | Bed → Acer palmatum (B1) | Rosa glauca (B2)
korean.csv (euc-kr), row 1: 번호 | 학명 | 위치 →
  1 Pinus densiflora (정문) | 2 Forsythia koreana (연못가) | 3 Hibiscus syriacus (온실)
latin-without-name.csv, row 1: - | Column B | - →
  Allium cernuum | Amsonia tabernaemontana | Chelone glabra | Vernonia lettermannii
latvian.csv, row 1: - | Latīniskais nosaukums | - → Acer platanoides | Tilia cordata | Rosa canina
leading-zeros.xlsx, row 1: Nr | Name | Bed → 42 Acer palmatum (007) | 43 Rosa glauca (008) | 44 Ilex aquifolium (012)
lists-sheet.xlsx, row 1: - | Plant | Zone → Acer palmatum (N) | Rosa glauca (S)
mac-cr-with-lf.csv, row 1: - | Name | Bed → Acer palmatum (B1) | Rosa glauca (B2) | Ilex aquifolium (B2)
merged-names.xlsx, row 3: - | Genus + Species | House → Acer palmatum (H1) | Rosa glauca (H1) | Ilex aquifolium (H2)
name-twice.csv, row 1: - | strSciName | - → Abies balsamea | Carex debilis | Rosa blanda
names-with-commas.txt (no quotation marks), row 0: - | Column A | - →
  Abies alba Mill. | Acer platanoides L. | Betula pendula Roth | Amsonia hubrichtii Woodson | Fagus sylvatica L.
  Bidens laevis (L.) Britton, Sterns & Poggenb. | Ilex aquifolium L. | Rosa "Peace | Tilia cordata Mill. | "Sunset maple
namespaces.csv, row 1: - | dwc:genus + dwc:specificEpithet + dwc:taxonRank + dwc:infraspecificEpithet + dwc:cultivarEpithet | dwc:locality →
  Acer palmatum var. dissectum (Glade) | Rosa glauca (Rose garden) | Hosta sieboldiana 'Elegans' (Rose garden)
native-origin.csv, row 1: - | Scientific name | - → Hoya carnosa | Hoya kerrii | Ficus lyrata
no-header-beds.csv, row 0: - | Column A | Column B → Abies alba (Bed 3) | Acer palmatum (Bed 4) | Betula pendula (Bed 5)
no-header-contacts.csv, row 0: - | Column A | - → Rosa canina | Salix alba | Tilia cordata
no-header-cultivars.csv, row 0: Column A | Column B | - → 1 Ablazing Rim | 2 Absolute Nil | 3 Airs and Arts
no-header-donors.csv, row 0: - | Column A | - → Crocus sativus | Galanthus nivalis | Iris sibirica
no-header-numbers.tsv, row 0: Column A | Column B | Column C →
  17 Monstera deliciosa (office) | 18 Ficus benjamina (hall) | 21 Hoya carnosa (hall)
no-header-rooms.csv, row 0: - | Column A | Column B →
  Monstera deliciosa (Büro im 2. Stock) | Ficus benjamina (Flur) | Hoya carnosa (Küche)
no-header-yes-no.csv, row 0: - | Column A | - → Ilex aquifolium | Buxus sempervirens | Nerium oleander
no-value.csv (2 refused), row 1: - | Name | Bed →
  Acer palmatum (NA) | Rosa glauca (NULL) | Ilex aquifolium (\N) | Tilia cordata (NaN) | Fagus sylvatica (None)
  NA (B1) | Cornus mas (-)
nursery-list.csv (1 refused), row 4: - | Botanical Name | Location →
  Acer palmatum 'Osakazuki' (Tunnel 1) | Magnolia × soulangeana (Tunnel 1) | Rosa 'Peace', grafted (Field)
one-column-named.txt, row 1: - | Taxon | - → Aloe vera | Crassula ovata
one-column.txt, row 0: - | Column A | - → Aloe vera | Crassula ovata | Haworthia attenuata | Sansevieria trifasciata
openpyxl.xlsx, row 1: Nr | Name | Bed → 1 Abelia × grandiflora | 2  Rosa glauca  (B2) | 9007199254740992 Ilex (B2)
pandas-index.csv, row 1: - | Name | Bed → Acer palmatum (B1) | Rosa glauca (B2) | Ilex aquifolium (B2)
pandas.xlsx (1 refused), row 1: id | name | tag → 101 Acer palmatum (B1) | 102 Rosa glauca
pipe.csv, row 1: Nr | Name | Bed → 101 Acer palmatum (B1) | 102 Rosa glauca, pink (B2) | 103 Ilex aquifolium (B2)
polish.csv (windows-1250), row 1: Numer | Nazwa łacińska | Miejsce →
  1 Quercus robur (alejka północna) | 2 Sorbus aucuparia (łąka) | 3 Betula pendula (łąka)
price-list.csv (windows-1252), row 2: - | Bezeichnung | - →
  Acer campestre, Heckenpflanze | Äpfel 'Boskoop' Halbstamm | Rose »Gloria Dei«
products.csv, row 1: - | SKU Name | - → 6 Inch Nepenthes | Boston Fern
rank-columns.csv, row 1: ACC_NUM | GENUS + SPECIES + INFRASPECIFIC_RANK + INFRASPECIFIC_EPITHET + CULTIVAR | - →
  1001 Acer palmatum var. dissectum | 1002 Acer palmatum f. atropurpureum | 1003 Acer palmatum var. dissectum Garnet
  1004 Rosa glauca
rich-texts.xlsx (1 refused), row 1: Nr | Name | Bed →
  1 Acer palmatum Thunb. (B1) | 2 Rosa glauca Pourr. (B2) | 3 Ilex aquifolium L. (B3)
russian.csv (windows-1251), row 1: Номер | Латинское название | Место →
  1 Betula pendula (Аллея) | 2 Tilia cordata (Аллея) | 3 Rosa canina (Розарий)
seed-bank.csv, row 1: - | GENUS + SPECIES + SUBTAXA | - →
  Hordeum vulgare convar. vulgare | Triticum aestivum subsp. compactum | Pisum sativum
seed-list.csv (4 refused), row 4: - | Species | - →
  Acer campestre L. | Acer palmatum Thunb. subsp. amoenum (Carrière) H.Hara | Rosa glauca Pourr. | Rosa canina L.
sheetjs.ods, row 1: Nr | Name | Bed → 101 Acer palmatum 'Ōsakazuki' (7) | 102 Rosa glauca (8)
sheetjs.xlsx, row 1: Nr | Name | Bed → 101 Acer palmatum 'Ōsakazuki' (007) | 102 Rosa glauca (008)
side-by-side.csv, row 1: - | Plant | Bed → Acer palmatum (A1) | Rosa glauca (A2)
small-letters.csv, row 1: - | latin | - → Acer palmatum | Rosa glauca | Tilia cordata
smart-quotes.csv, row 1: - | Name | Bed → Acer palmatum, red (B1) | Rosa glauca (B2)
snipe.csv, row 1: - | Name | Location → Acer palmatum (Greenhouse) | Rosa glauca (Bed 2) | Ficus (Bed 3)
some-whole.csv, row 1: - | Genus + Species | Room → Acalypha hispida (1) | Rosa glauca (1) | Acer palmatum (2)
spanish.csv (windows-1252), row 1: Número | Nombre científico | Ubicación →
  1 Quercus ilex (jardín) | 2 Olea europaea (jardín) | 3 Arbutus unedo (montaña)
species-codes.csv, row 1: - | Genus_species | - → Pseudotsuga menziesii | Pseudotsuga menziesii | Crataegus laevigata
text-formula.csv, row 1: Nr | Name | Bed → 101 Acer palmatum (007) | 102 Rosa glauca (008)
trailing.csv, row 1: - | Name | Bed → Acer palmatum (B1) | Rosa glauca (B2)
turkish.csv (windows-1254), row 1: No | Latince adı | Yer →
  1 Platanus orientalis (giriş) | 2 Pinus nigra (bahçe) | 3 Liquidambar orientalis (göl kıyısı)
two-headers-tie.csv, row 2: - | Genus + Species | House → Acer palmatum (H1) | Rosa glauca (H1)
two-headers.csv, row 2: - | Genus + Species + Cultivar | House →
  Acer palmatum Osakazuki (H1) | Rosa glauca (H1) | Ilex aquifolium (H2)
two-lists.csv (1 refused), row 1: - | Plant | Bed → Acer palmatum (B1) | Rosa glauca (B2) | Tilia cordata (C1)
unicode-text.txt (utf-16le), row 1: Nr | Name | Bed → 101 Acer palmatum 'Ōsakazuki' (007) | 102 Rosa glauca (008)
utf16be-bom.csv (utf-16be), row 1: - | Name | Bed → Häberlea rhodopensis (B1) | Rosa glauca (B2)
vegetables.csv, row 1: - | Vegetable + Variety | - → Tomato Moneymaker | Carrot Nantes | Lettuce Little Gem
with-author.csv, row 1: - | Scientific Name with Author | - →
  Abutilon abutiloides (Jacq.) Garcke ex Hochr. | Abutilon americanum (L.) Sweet | Abies alba Mill.
years.csv, row 1: - | Name | - → Acer palmatum | Rosa glauca | Tilia cordata
yes-no.csv, row 1: - | Plant | - → Ilex aquifolium | Buxus sempervirens | Acer negundo
`

/** The text of each sheet in the table, with its name in front. */
const EXPECTED = new Map(
  SHEETS.trim()
    .split(/\n(?! )/)
    .map(
      (sheet) =>
        [
          /^[^ ,]+/.exec(sheet)?.[0] ?? assert.fail(sheet),
          sheet.replace(/ →\n */, ' → ').replaceAll('\n  ', ' | '),
        ] as const,
    ),
)

/** What the page makes of a sheet, as in the table. */
async function read(name: string): Promise<string> {
  const { sheet, mapping, plants, refused } = await readAsPage(name)
  const { columns, encoding, isQuoted, header } = sheet
  const named = (at: number | undefined): string => (at === undefined ? '-' : (columns[at] ?? ''))
  const facts = [
    ...(encoding === 'utf-8' ? [] : [encoding]),
    ...(isQuoted ? [] : ['no quotation marks']),
    ...(refused === 0 ? [] : [`${refused} refused`]),
  ].join(', ')
  const names = mapping.name.length === 0 ? '-' : mapping.name.map(named).join(' + ')
  const found = [named(mapping.id), names, named(mapping.tag)].join(' | ')
  const read = plants.map(textOf).join(' | ')
  return `${name}${facts === '' ? '' : ` (${facts})`}, row ${header}: ${found}${read === '' ? '' : ` → ${read}`}`
}

const textOf = ({ id, name, tag }: RowPlant): string =>
  [...(id === undefined ? [] : [id]), name, ...(tag === undefined ? [] : [`(${tag})`])].join(' ')

suite('the page reads by itself', () => {
  for (const [name, expected] of EXPECTED) test(name, async () => assert.equal(await read(name), expected))

  test('each of the files', () => assert.deepEqual(FILES, [...EXPECTED.keys()].toSorted()))
})
