import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { suite, test } from 'node:test'
import { guess } from '../../../src/import/sheet/guess.ts'
import type { Encoding } from '../../../src/import/sheet/guess-encoding.ts'
import { plantIn } from '../../../web/src/import/plant-row.ts'
import { openSheet, rowsOf } from '../../../web/src/import/sheet.ts'

/** What the page must make of a file: the row with the names of columns, the columns, and the plants. */
interface Expected {
  readonly encoding?: Encoding
  readonly isQuoted?: boolean
  readonly header: number
  readonly columns: readonly [id: string, name: string, tag: string]
  readonly plants: readonly string[]
  readonly refused?: number
}

const FOLDER = new URL('../../import/fixtures/sheets/', import.meta.url)

/** Sheets as people have them, each with what is hard in it. */
const SHEETS: Readonly<Record<string, Expected>> = {
  'nursery-list.csv': {
    header: 4,
    columns: ['', 'Botanical Name', 'Location'],
    plants: ["Acer palmatum 'Osakazuki'", 'Magnolia × soulangeana', "Rosa 'Peace', grafted"],
    refused: 1,
  },
  'gbif-occurrences.tsv': {
    isQuoted: false,
    header: 1,
    columns: ['gbifID', 'scientificName', 'locality'],
    plants: [
      'Abies alba Mill.',
      'Quercus robur L.',
      'Rosa canina L.',
      'Betula pendula Roth',
      'Fagus sylvatica L.',
      'Taxus baccata L.',
    ],
  },
  'darwin-core.csv': {
    header: 1,
    columns: ['catalogNumber', 'scientificName', 'locality'],
    plants: ['Ginkgo biloba L.', 'Taxodium distichum (L.) Rich.', 'Larix decidua Mill.'],
  },
  'collection-base.csv': {
    header: 1,
    columns: ['', 'NAME', 'LOC_CODE'],
    plants: ['Rhododendron luteum Sweet', 'Rhododendron luteum Sweet', 'Trillium grandiflorum (Michx.) Salisb.'],
  },
  'herbarium.csv': {
    header: 1,
    columns: ['', 'Taxon', ''],
    plants: ['Gentiana acaulis', 'Gentiana verna', 'Soldanella alpina'],
  },
  'price-list.csv': {
    encoding: 'windows-1252',
    header: 2,
    columns: ['', 'Bezeichnung', ''],
    plants: ['Acer campestre, Heckenpflanze', "Äpfel 'Boskoop' Halbstamm", 'Rose »Gloria Dei«'],
  },
  'no-header-beds.csv': {
    header: 0,
    columns: ['', 'Column A', 'Column B'],
    plants: ['Abies alba', 'Acer palmatum', 'Betula pendula'],
  },
  'no-header-numbers.tsv': {
    header: 0,
    columns: ['Column A', 'Column B', 'Column C'],
    plants: ['Monstera deliciosa', 'Ficus benjamina', 'Hoya carnosa'],
  },
  'no-header-contacts.csv': {
    header: 0,
    columns: ['', 'Column A', ''],
    plants: ['Rosa canina', 'Salix alba', 'Tilia cordata'],
  },
  'no-header-rooms.csv': {
    header: 0,
    columns: ['', 'Column A', 'Column B'],
    plants: ['Monstera deliciosa', 'Ficus benjamina', 'Hoya carnosa'],
  },
  'no-header-donors.csv': {
    header: 0,
    columns: ['', 'Column A', ''],
    plants: ['Crocus sativus', 'Galanthus nivalis', 'Iris sibirica'],
  },
  'one-column.txt': {
    header: 0,
    columns: ['', 'Column A', ''],
    plants: ['Aloe vera', 'Crassula ovata', 'Haworthia attenuata', 'Sansevieria trifasciata'],
  },
  'one-column-named.txt': { header: 1, columns: ['', 'Taxon', ''], plants: ['Aloe vera', 'Crassula ovata'] },
  'yes-no.csv': {
    header: 1,
    columns: ['', 'Plant', ''],
    plants: ['Ilex aquifolium', 'Buxus sempervirens', 'Acer negundo'],
  },
  'no-header-yes-no.csv': {
    header: 0,
    columns: ['', 'Column A', ''],
    plants: ['Ilex aquifolium', 'Buxus sempervirens', 'Nerium oleander'],
  },
  'german.csv': {
    encoding: 'windows-1252',
    header: 1,
    columns: ['Nr.', 'Gattung + Art + Sorte', 'Standort'],
    plants: ['Salvia nemorosa Caradonna', 'Geranium ×cantabrigiense Biokovo', 'Häberlea ferdinandi'],
  },
  'french-macintosh.csv': {
    encoding: 'macintosh',
    header: 1,
    columns: ['N°', 'Nom scientifique', 'Emplacement'],
    plants: ['Fagus sylvatica', 'Castanea sativa', 'Acer pseudoplatanus'],
  },
  'spanish.csv': {
    encoding: 'windows-1252',
    header: 1,
    columns: ['Número', 'Nombre científico', 'Ubicación'],
    plants: ['Quercus ilex', 'Olea europaea', 'Arbutus unedo'],
  },
  'dutch.csv': {
    header: 1,
    columns: ['Nummer', 'Wetenschappelijke naam', 'Vak'],
    plants: ['Ulmus laevis', 'Salix alba', 'Tilia cordata'],
  },
  'polish.csv': {
    encoding: 'windows-1250',
    header: 1,
    columns: ['Numer', 'Nazwa łacińska', 'Miejsce'],
    plants: ['Quercus robur', 'Sorbus aucuparia', 'Betula pendula'],
  },
  'turkish.csv': {
    encoding: 'windows-1254',
    header: 1,
    columns: ['No', 'Latince adı', 'Yer'],
    plants: ['Platanus orientalis', 'Pinus nigra', 'Liquidambar orientalis'],
  },
  'greek.csv': {
    encoding: 'windows-1253',
    header: 1,
    columns: ['Αριθμός', 'Επιστημονικό όνομα', 'Θέση'],
    plants: ['Olea europaea', 'Quercus coccifera', 'Platanus orientalis'],
  },
  'russian.csv': {
    encoding: 'windows-1251',
    header: 1,
    columns: ['Номер', 'Латинское название', 'Место'],
    plants: ['Betula pendula', 'Tilia cordata', 'Rosa canina'],
  },
  'japanese.csv': {
    encoding: 'shift_jis',
    header: 1,
    columns: ['番号', '学名', '場所'],
    plants: ['Cerasus × yedoensis', 'Acer palmatum', 'Camellia japonica'],
  },
  'chinese.csv': {
    encoding: 'gb18030',
    header: 1,
    columns: ['编号', '学名', '位置'],
    plants: ['Ginkgo biloba', 'Metasequoia glyptostroboides', 'Osmanthus fragrans'],
  },
  'korean.csv': {
    encoding: 'euc-kr',
    header: 1,
    columns: ['번호', '학명', '위치'],
    plants: ['Pinus densiflora', 'Forsythia koreana', 'Hibiscus syriacus'],
  },
}

async function read(name: string): Promise<Required<Expected>> {
  const sheet = await openSheet(new File([readFileSync(new URL(name, FOLDER))], name))
  const { columns, below, encoding, isQuoted, header } = sheet
  const mapping = guess(columns, below, header !== 0)
  const named = (at: number | undefined): string => (at === undefined ? '' : (columns[at] ?? ''))
  const rows = await Array.fromAsync(rowsOf(sheet), (row) => plantIn(row, mapping, columns.length))
  return {
    encoding,
    isQuoted,
    header,
    columns: [named(mapping.id), mapping.name.map(named).join(' + '), named(mapping.tag)],
    plants: rows.flatMap((row) => (typeof row === 'string' ? [] : [row.name])),
    refused: rows.filter((row) => typeof row === 'string').length,
  }
}

suite('the page reads by itself', () => {
  for (const [name, expected] of Object.entries(SHEETS)) {
    test(name, async () =>
      assert.deepEqual(await read(name), { encoding: 'utf-8', isQuoted: true, refused: 0, ...expected }),
    )
  }

  test('each of the files', () => assert.deepEqual(readdirSync(FOLDER).toSorted(), Object.keys(SHEETS).toSorted()))
})
