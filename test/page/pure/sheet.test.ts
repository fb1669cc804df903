import assert from 'node:assert/strict'
import { openAsBlob, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { guess } from '../../../src/import/sheet/guess.ts'
import { SheetLook } from '../../../src/import/sheet/look.ts'
import type { Reading } from '../../../src/import/sheet/sheet.ts'
import type { RowPlant } from '../../../src/import/sheet/sheet-plants.ts'
import { plantIn } from '../../../web/src/import/plant-row.ts'
import { openSheet, rowsOf, type Sheet } from '../../../web/src/import/sheet.ts'
import { say } from '../../../web/src/language/language.ts'
import { said } from '../../../web/src/page/said.ts'
import { tempFolder } from '../../support/files.ts'
import { allOf } from '../../support/sheets.ts'

const sheetOf = (text: string | Uint8Array<ArrayBuffer>, chosen?: Reading): Promise<Sheet> =>
  openSheet(new File([text], 'plants.csv'), chosen)

/** The names of the columns that the page takes for each member of a plant. */
async function guessed(text: string): Promise<readonly [id: string, name: string, tag: string]> {
  const { columns, below, header } = await sheetOf(text)
  const { id, name, tag } = guess(columns, below, header !== 0)
  const named = (at: number | undefined): string => (at === undefined ? '' : (columns[at] ?? ''))
  return [named(id), name.map(named).join(' + '), named(tag)]
}

/** The plants that the page reads, as it guesses the columns. */
async function plantsIn(text: string, chosen?: Reading): Promise<readonly (RowPlant | string)[]> {
  const sheet = await sheetOf(text, chosen)
  const mapping = guess(sheet.columns, sheet.below, sheet.header !== 0)
  return allOf(rowsOf(sheet), (row) => plantIn(row, mapping, sheet.columns))
}

const LATIN_BESIDE = 'Linden,Tilia cordata / Red Maple,Acer rubrum / Oak,Quercus alba / Ginkgo,Ginkgo biloba'

/** Sheets, with " / " for line ends, and the columns that the page takes for the ids, the names and the tags. */
const GUESSES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'but takes the species alone only without a genus, and parts only without a whole name': {
    'Species,Height / Abies alba,2': '- | Species | -',
    'Genus,Species,Name / Pinus,mugo,Pinus mugo': '- | Name | -',
    'Genus,Species,Name / Abies,alba,Silver fir': '- | Genus + Species | -',
    'Genus,Species / Abies,Abies alba / ,Rosa': '- | Species | -',
    'Genus,Species / Abies,Abies alba / Rosa,gallica': '- | Genus + Species | -',
    'Genus,Species / Abies,Abies alba / Acer,': '- | Genus + Species | -',
    'Genus,Common name / Abies,fir': '- | Genus | -',
    'Common name,Place / fir,bed': '- | Common name | Place',
  },
  'but takes whole names beside their genus, whatever they are called': {
    'GENUS,Label / Acer,Acer palmatum / Rosa,Rosa glauca': '- | Label | -',
    'GENUS,Remark / Acer,old / Rosa,new': '- | GENUS | -',
    'genus,species,sub.spp / Bromus,madritensis,rubens': '- | genus + species + sub.spp | -',
  },
  'and names in parts, whatever they are called': {
    'id,genus,specificepithet / 1,Acer,rubrum': 'id | genus + specificepithet | -',
    'gender,species,rank / Acer,rubrum,f.': '- | gender + species | -',
    'Suku,Jenisnya,Banyak / Acer,rubrum,3 / Rosa,canina,4 / Abies,alba,5': '- | Suku + Jenisnya | -',
    'Acer,rubrum,3 / Rosa,canina,4 / Abies,alba,5': '- | Column A + Column B | -',
    'Taxon,Subspecies / Acer saccharum,nigrum / Rosa gallica,gallica': '- | Taxon + Subspecies | -',
    'Taxon,Subspecies / Acer rubrum subsp. rubrum,rubrum': '- | Taxon | -',
    'Name,Beet / 1,Dill,a / 2,Anis,b / 4,Mohn,': '- | Name | Beet',
    'name,plant,about / no,Boldo,Planta antiga utilizada.': '- | plant | -',
    'name,label,genus / acer_rubrum,Acer_rubrum,Acer': '- | label | -',
    'Latin,Name / Beta vulgaris,Red / Beta vulgaris,Gold': '- | Latin + Name | -',
  },
  'as programs for stores export them': {
    'Item Name,Asset Tag,Location,Status / Acer palmatum,GH-0001,Greenhouse,Ready': '- | Item Name | Location',
  },
  'and adds the cultivar to a name that lacks it': {
    'Pflanze;Sorte;Anzahl / Tomate;Roma;3': '- | Pflanze + Sorte | -',
    'Common name,Variety / Tomato,Roma': '- | Common name + Variety | -',
    "Name,Cultivar / Rosa 'Peace',Peace / Abies,": '- | Name | -',
  },
  'but takes parts beside numbers of plants, and a genus that says more than one word': {
    'code,nom,genre,genre_bota,espece / E1,AR29627,VEG,Ginkgo,biloba / E2,AR29628,VEG,Abies,alba / E3,AR29629,VEG,Acer,rubrum':
      '- | genre_bota + espece | -',
    'Soil,Tree_Species,pH / a,Pine,5 / b,Birch,6 / a,Oak,6': '- | Tree_Species | -',
    'X,Y,Name / 30.1,50.3,2274 / 30.2,50.3,2275': '- | - | -',
  },
  'but takes names in another language for no tag of those in Latin': {
    [`${LATIN_BESIDE} / ${LATIN_BESIDE}`]: '- | Column B | -',
  },
  'in a list whose other columns are nearly empty': {
    'taxon_name,status / Abies alba / Acer rubrum / Ilex aquifolium / Tilia cordata / Rosa glauca / Quercus alba,N':
      '- | taxon_name | -',
  },
  'but takes no numbers for names': { 'Species,Plants / Abies alba,3 / Betula,4': '- | Species | -' },
  'but takes no column for ids whose cells are none': {
    'Code,Name / A-12,Abies / A-13,Betula': '- | Name | -',
    'Number,Name / 3,Abies / 3,Betula': '- | Name | -',
    'Nr,Name / 1,Abies / 2,Betula / 1O3,Acer': 'Nr | Name | -',
    'id,Name / A-12,Abies / ,Betula': '- | Name | -',
    'id,Name / 101.0,Abies / ,Betula': 'id | Name | -',
  },
  'and leaves the choice to the person where a column could be anything': { 'Abies,tree / Betula,tree': '- | - | -' },
}

const LONG = 'Whether it is listed and if so in which book and since when'

const plant = (id: bigint | undefined, name: string, tag?: string): RowPlant => ({ id, name, tag })

suite('the page finds the names of the columns', () => {
  const sheets: readonly (readonly [what: string, text: string, header: number])[] = [
    ['in the first row', 'id,name\n1,Abies\n', 1],
    ['below a title', 'Plants of the nursery\n\nNr.;Pflanze;Kategorie\n1;Abies;Baum\n', 3],
    ['below titles of several cells', 'Nursery,Stand 2026,\nAll plants,,\nId,Name,Tag\n1,Abies,\n', 3],
    ['below a title as spreadsheets fill it up', 'My plants,,\n,,\nPlant,Place,Height\nAbies,bed,2\n', 3],
    ['that are numbers', '0,1,2\n0,Abies alba,x\n1,Acer rubrum,y\n', 1],
    ['as R writes them', 'x\nAbies alba\nAcer rubrum\n', 1],
    ['below numbers of columns', '0,1,2\nWas,Pflanze,Höhe\na,Abies,2\nb,Acer,3\n', 2],
    ['of several words in a column alone', 'genus_species\nacer_rubrum\nrosa_canina\n', 1],
    ['in a column alone', 'Pflanze\nAbies\nBetula\n', 1],
    ['with names that nobody knows, above numbers', 'Was,Wieviel\nAbies,10\nBetula,12\n', 1],
    ['below a title, with names that nobody knows', 'Garten,\n,\nWas,Wieviel\nAbies,10\nBetula,12\n', 3],
    ['with usual names again on each page', 'Name,Höhe\nAbies,2\nBetula,3\nName,Höhe\nAcer,4\n', 1],
    ['with years', 'Name,Beet,2025,2026\nAbies,a,1,2\nBetula,b,3,4\n', 1],
    ['with numbers of months', 'Name,Beet 1,1,2,3\nDill,a,x,,\nAnis,b,,x,x\n', 1],
    ['with a long one, above names', `Species,${LONG}\nAbies alba,a\nAcer,b\nRosa canina,c\n`, 1],
    ['with a long one, above numbers', `Was,${LONG},Höhe,Alter\nDill,1,2,3\nAnis,2,4,5\nMohn,3,4,2\n`, 1],
    ['with the kinds of dBase', '"NR,C,20","ART,C,80"\nA 3,Abies alba\n20,Acer rubrum\n', 1],
    ['in two rows, by a merged cell', 'Was,Species,Da,\nWas,Species,A,A\na,Abies alba,1,2\nb,Acer rubrum,1,2\n', 2],
    ['in two rows, by merged cells of words', 'English name,Qty,\nEnglish name,A,B\nFir,1,2\nMaple,1,2\n', 2],
    ['nowhere, if the first row could be a plant', 'Was,Wo\nAbies,Beet 1\nBetula,Beet 2\n', 0],
    ['nowhere, if the first row names a genus, and others species', 'Monstera,Büro\nFicus benjamina,Flur\n', 0],
    ['nowhere, if an answer is the only usual name', 'Abies,ja,no\nBetula,ja,ja\n', 0],
    ['nowhere, if cells are addresses', 'Name,a@example.org\nBetula,b@example.org\n', 0],
    ['nowhere, if the row with usual names is among plants', 'Abies,tree\nName,place\nBetula,tree\n', 0],
    ['nowhere, if the first row has a number', '1,Monstera,houseplant\n2,Abies,tree\n', 0],
    ['nowhere, if a word of the first row occurs again', 'Abies,tree\nBetula,tree\n', 0],
    ['nowhere in a list of plants', 'Abies\nBetula\n', 0],
    ['nowhere, if a plant has a usual name as its tag', '1,Abies,plant\n2,Betula,bed\n', 0],
    ['nowhere, if two plants have usual names as their tags', 'Abies,plant\nBetula,bed\n', 0],
    ['nowhere in a row alone', 'Abies alba,tree\n', 0],
    ['behind a row sep=', 'sep=;\nid;name\n1;Abies\n', 2],
  ]
  for (const [what, text, header] of sheets) {
    test(what, async () => assert.equal((await sheetOf(text)).header, header))
  }

  test('where the person says they are', async () => {
    const text = 'Abies,tree\nBetula,shrub\n'
    assert.deepEqual((await sheetOf(text, { header: 1 })).columns, ['Abies', 'tree'])
    assert.deepEqual((await sheetOf(text, { header: 0 })).columns, ['Column A', 'Column B'])
    assert.equal((await plantsIn('Trees\n1,Abies\n2,Betula\n', { header: 0 })).length, 3)
  })

  test('also for columns without a name, with the letters of a spreadsheet', async () => {
    const { columns } = await sheetOf(`name,,tag\nAbies,x,y,z${','.repeat(23)}last\n`)
    assert.deepEqual(columns.slice(0, 4), ['name', 'Column B', 'tag', 'Column D'])
    assert.equal(columns.at(-1), 'Column AA')
  })
})

test('the page reads a sheet without names of columns as an export, or as a list of names', async () => {
  const expected = [plant(1n, 'Monstera', 'houseplant'), plant(2n, 'Abies')]
  assert.deepEqual(await plantsIn('1,Monstera,houseplant\n2,Abies,\n'), expected)
  assert.deepEqual(await plantsIn('Abies\nBetula'), [plant(undefined, 'Abies'), plant(undefined, 'Betula')])
})

test('the page takes a further row with names of columns for none, and for a plant where it has an id', async () => {
  const rows = 'name,tag\nAbies,tree\nPlant,Bed\n'
  assert.deepEqual((await plantsIn(rows)).slice(1), ['The row has names of columns.'])
  assert.deepEqual((await plantsIn('id,name,tag\n1,Abies,tree\n2,Plant,Bed\n')).slice(1), [plant(2n, 'Plant', 'Bed')])
})

suite('the page knows the usual names of columns', () => {
  const headers: readonly (readonly [language: string, header: string, name: string])[] = [
    ['English', 'Accession No.,Botanical Name,Category', 'Botanical Name'],
    ['German', 'Inventar-Nr.,Botanischer Name,Kategorie', 'Botanischer Name'],
    ['French', 'N°,Nom scientifique,Catégorie', 'Nom scientifique'],
    ['Spanish', 'N.º,Nombre científico,Categoría', 'Nombre científico'],
    ['Dutch', 'Nummer,Wetenschappelijke naam,Groep', 'Wetenschappelijke naam'],
    ['Italian', 'Numero,Nome botanico (latino),Categoria', 'Nome botanico (latino)'],
    ['English, in one word', 'plantId,plantName,plantTag', 'plantName'],
    ['German, abbreviated', 'ID-Nr.,Wiss. Name,Typ', 'Wiss. Name'],
    ['the plural', 'No.,Plants,Group', 'Plants'],
    ['Indonesian', 'No.,Nama tanaman,Zone', 'Nama tanaman'],
  ]
  for (const [language, header, name] of headers) {
    test(`in ${language}`, async () => {
      const [id, , tag] = header.split(',')
      assert.deepEqual(await guessed(`${header}\n1,Abies,x\n`), [id, name, tag])
    })
  }

  test('and joins genus, species and cultivar to a name, in their order', async () => {
    for (const header of [
      'Species,Genus,Cultivar',
      'Art;Gattung;Sorte',
      'Espèce,Genre,Variété',
      'Especie,Género,Variedad',
      'Soort,Geslacht,Cultivar',
      'Specie,Genere,Varietà',
    ]) {
      const by = header.includes(';') ? ';' : ','
      const rows = [
        ['gallica', 'Rosa', 'Officinalis'],
        ['alba ', 'Abies', ''],
        ['…', 'Acer', 'NA'],
      ].map((row) => row.join(by))
      const expected = ['Rosa gallica Officinalis', 'Abies alba', 'Acer'].map((name) => plant(undefined, name))
      assert.deepEqual(await plantsIn([header, ...rows].join('\n')), expected, header)
    }
  })

  for (const [title, sheets] of Object.entries(GUESSES)) {
    test(title, async () => {
      for (const [text, expected] of Object.entries(sheets)) {
        const columns = await guessed(text.split(' / ').join('\n'))
        assert.equal(columns.map((column) => column || '-').join(' | '), expected, text)
      }
    })
  }

  test('but takes no places for names, of which many rows have few', async () => {
    const rows = Array.from({ length: 20 }, (_, i) => `Rue de Paris,${i},ACEPLA`)
    assert.deepEqual(await guessed(['Adresse,Haut,Code', ...rows].join('\n')), ['', '', ''])
  })

  test('and takes the widest row for all columns', async () => {
    assert.equal((await sheetOf(`${'Acer rubrum,x\n'.repeat(25)}Rosa canina,x,x,x\n`)).columns.length, 4)
  })
})

suite('the page reads a row like the service', () => {
  test('with leading zeros and blanks around an id', async () => {
    assert.deepEqual(await plantsIn('id,name\n 007 ,Abies\n'), [plant(7n, 'Abies')])
  })

  test('without errors of formulas, and with a text that shows nothing as an empty cell', async () => {
    const rows = [
      '#REF!,Beet',
      'Abies,#N/A',
      'Acer,Err:502',
      '\u00a0,Beet',
      '\u200b,Beet',
      'Betula,\u00a0',
      'Rosa #1,#7',
    ]
    const [reference, absent, own, ...others] = await plantsIn(`Name,Beet\n${rows.join('\n')}\n`, { header: 1 })
    for (const refused of [reference, absent, own])
      assert.match(String(refused), /is the error "?(#REF!|#N\/A|Err:502)/)
    const noName = say('import.rowNoName')
    const named = [plant(undefined, 'Betula'), plant(undefined, 'Rosa #1', '#7')]
    assert.deepEqual(others, [noName, noName, ...named])
    assert.match(String((await plantsIn('Name,Beet\nH\ufffd,a\n'))[0]), /^The name .* has a character that is lost/)
  })

  test('and refuses it for the same reasons', async () => {
    const rows = ['x,a', '9.2E+18,a', '1,"a"b', '1,a,,,surplus', '9223372036854775808,a', '2,a\0', ',a', '3,']
    const reasons = await plantsIn(`id,name\n0,first\n${rows.join('\n')}\n`, { header: 1 })
    const expected = [
      /^Id must be an integer in plain digits, such as 7 or -7, not "x"\.$/,
      /spreadsheet program has rounded it\.$/,
      /^A quotation mark is misplaced/,
      /"surplus" has no column\.$/,
      /^Id must be from -9223372036854775808/,
      /^Name must not contain U\+0000/,
      /^Id is required\.$/,
      /^The row has no name\.$/,
    ]
    for (const [i, reason] of expected.entries()) assert.match(String(reasons[i + 1]), reason)
  })
})

test('rows may take the tag of the row above where the first has one, each stands once, and a third has none', async () => {
  for (const [tags, count] of [
    [['bed 1', '', '', 'bed 2', ''], 3],
    [['', 'bed 1', '', '', 'bed 2'], 0],
    [['bed 1', '', 'bed 1', ''], 0],
    [['bed 1', 'bed 2', 'bed 3', ''], 0],
  ] as const) {
    const look = new SheetLook({ id: undefined, name: [0], tag: 1 }, ['Name', 'Bed'])
    const sheet = await sheetOf(`Name,Bed\n${tags.map((tag) => `Abies,${tag}\n`).join('')}`)
    await allOf(rowsOf(sheet), (row) => look.take(row))
    assert.equal(look.findings.tagsAbove, count, tags.join())
  }
})

suite('the page divides a sheet into cells', () => {
  test('by the separator with which most rows have the same number of cells', async () => {
    const german = 'Liste, Stand 2026\nNr;Name;Ort\n1;Rosa, rot, groß;a\n2;Acer, klein;b\n3;Abies;c\n'
    assert.equal((await sheetOf(german)).separator, ';')
    assert.equal((await sheetOf('name\ttag\na, b, c\td\ne\tf\n')).separator, '\t')
    assert.equal((await sheetOf('name\nAbies\n')).separator, ',')
  })

  test('also if its lines end with CR alone', async () => {
    assert.deepEqual(await plantsIn('id,name\r1,Abies\r2,Betula\r'), [plant(1n, 'Abies'), plant(2n, 'Betula')])
  })

  test('but not a file that is no text, nor UTF-16 without a byte order mark', async () => {
    const files: readonly (readonly [Uint8Array<ArrayBuffer>, RegExp])[] = [
      [new TextEncoder().encode('%PDF-1.7'), /^the file is not text but a PDF/],
      [new Uint8Array(Buffer.from('d0cf11e0a1b11ae1', 'hex')), /^the file is not text but an old workbook \(\.xls\)/],
      [new Uint8Array(Buffer.from('id,name\n1,a\n', 'utf16le')), /^the file is UTF-16 without a byte order mark/],
    ]
    for (const [file, message] of files) {
      await assert.rejects(sheetOf(file), (error: Error) => message.test(error.message))
    }
  })

  test('and says of a file that has changed since that it has to be chosen again', async (t) => {
    const path = join(tempFolder(t), 'plants.csv')
    writeFileSync(path, 'id,name\n1,Fern\n')
    const sheet = await openSheet(new File([await openAsBlob(path)], 'plants.csv'))
    writeFileSync(path, 'id,name\n1,Fern\n2,Moss\n')
    const fault = await allOf(rowsOf(sheet), () => {}).catch(said)
    assert.equal(fault, 'The file was changed or is gone. Choose it again.')
  })
})
