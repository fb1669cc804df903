// Longer than 400 lines because each sheet has its entry in one table.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { guess } from '../../../src/import/sheet/guess.ts'
import type { Encoding } from '../../../src/import/sheet/guess-encoding.ts'
import { plannedRows, type RowPlant } from '../../../src/import/sheet/sheet-plants.ts'
import { plantIn } from '../../../web/src/import/plant-row.ts'
import { rowsOf } from '../../../web/src/import/sheet.ts'
import { allOf, SHEETS as FILES, openAsPage } from '../../support/sheets.ts'

/** What the page must make of a file: the row with the names of columns, the columns, and the plants. */
interface Expected {
  readonly encoding?: Encoding
  readonly isQuoted?: boolean
  readonly header: number
  readonly columns: readonly [id: string, name: string, tag: string]
  /** Each with its id, and its tag in brackets, where it has them. */
  readonly plants: readonly string[]
  readonly refused?: number
}

/** Sheets as people have them, each with what is hard in it. */
const SHEETS: Readonly<Record<string, Expected>> = {
  'backslash.csv': { header: 1, columns: ['', 'Name', 'Bed'], plants: ['Rosa glauca (B2)'], refused: 1 },
  'bars-with-inches.csv': {
    isQuoted: false,
    header: 1,
    columns: ['', 'Scientific name', 'Kind'],
    plants: ['Achillea millefolium (Perennial)', 'Allium schoenoprasum (Herb)', 'Liatris spicata (Perennial)'],
  },
  'capitals.csv': {
    header: 1,
    columns: ['', 'ESPECIE', 'LUGAR'],
    plants: ['APIUM GRAVEOLENS (INVERNADERO 1)', 'DELOSPERMA COOPERI (ROCALLA)', 'CYCLAMEN PERSICUM (INVERNADERO 2)'],
  },
  'chinese.csv': {
    encoding: 'gb18030',
    header: 1,
    columns: ['编号', '学名', '位置'],
    plants: ['1 Ginkgo biloba (东门)', '2 Metasequoia glyptostroboides (湖边)', '3 Osmanthus fragrans (温室)'],
  },
  'city-trees.csv': {
    header: 1,
    columns: ['', 'art_bot', ''],
    plants: ["Populus nigra 'Italica'", 'Tilia cordata', 'Acer platanoides'],
  },
  'collection-base.csv': {
    header: 1,
    columns: ['', 'NAME', 'LOC_CODE'],
    plants: [
      'Rhododendron luteum Sweet (RG1)',
      'Rhododendron luteum Sweet (RG2)',
      'Trillium grandiflorum (Michx.) Salisb. (WG3)',
    ],
  },
  'comments.csv': { header: 3, columns: ['', 'Name', 'Bed'], plants: ['Acer palmatum (B1)', 'Rosa glauca (B2)'] },
  'coordinates.csv': {
    header: 1,
    columns: ['id', 'taxon.name', 'place_guess'],
    plants: ['9001 Euphorbia resinifera (Fribourg)', '9002 Echeveria elegans (Bern)'],
  },
  'darwin-core.csv': {
    header: 1,
    columns: ['catalogNumber', 'scientificName', 'locality'],
    plants: [
      '20010123 Ginkgo biloba L. (Arboretum, north)',
      '20010124 Taxodium distichum (L.) Rich. (Pond)',
      '20010125 Larix decidua Mill. (Pond)',
    ],
  },
  'dates.xlsx': { header: 1, columns: ['Nr', 'Name', ''], plants: ['1 Acer palmatum', '2 Rosa glauca', '3 Ilex'] },
  'days-from-1904.xlsx': { header: 1, columns: ['', 'Name', ''], plants: ['Acer palmatum', 'Rosa glauca'] },
  'dots.csv': {
    header: 1,
    columns: ['', 'genus + species + sub.spp', ''],
    plants: ['Bromus madritensis rubens', 'Bromus madritensis madritensis'],
  },
  'dutch.csv': {
    header: 1,
    columns: ['Nummer', 'Wetenschappelijke naam', 'Vak'],
    plants: ['1 Ulmus laevis (A1)', '2 Salix alba (A1)', '3 Tilia cordata (B2)'],
  },
  'dwc-atomised.csv': {
    header: 1,
    columns: ['', 'genus + specificEpithet + taxonRank + infraspecificEpithet + cultivarEpithet', 'locality'],
    plants: [
      'Acer palmatum var. dissectum (Bed 1)',
      'Rosa glauca (Bed 2)',
      "Hosta sieboldiana 'Elegans' (Bed 3)",
      'Rosa gallica subsp. gallica ‘Officinalis’ (Bed 3)',
      'Brassica oleracea Capitata Group (Bed 4)',
    ],
  },
  'either-name.csv': {
    header: 1,
    columns: ['', 'Plant Name / Genus + Cultivar / Variety', ''],
    plants: ['Bluestem The Blues', 'Chokeberry Low Mound'],
  },
  'errors.xlsx': { header: 1, columns: ['Nr', 'Name', 'Bed'], plants: ['1 Acer palmatum (B1)'], refused: 3 },
  'faulty-utf8.csv': {
    header: 1,
    columns: ['', 'Name', 'Beet'],
    plants: ['Häberlea (Süd)', 'Ölweide (Höhe)'],
    refused: 1,
  },
  'filed-as.csv': {
    header: 1,
    columns: ['', 'FiledAs', 'Room'],
    plants: [
      'Polygala vulgaris L. (123)',
      'Anthospermum ferrugineum Eckl. & Zeyh. (123)',
      'Gentianella campestris var. suecica (Froel.) Dostal (124)',
    ],
  },
  'float-ids.csv': {
    header: 1,
    columns: ['id', 'name', 'tag'],
    plants: ['101 Acer palmatum (B1)', '102 Rosa glauca'],
    refused: 1,
  },
  'formula-id.xlsx': { header: 1, columns: ['Nr', 'Name', 'Bed'], plants: [], refused: 3 },
  'formula-name.xlsx': { header: 1, columns: ['Nr', 'Name', 'Bed'], plants: [], refused: 3 },
  'formula-tag.xlsx': { header: 1, columns: ['Nr', 'Name', 'Bed'], plants: [], refused: 3 },
  'french-macintosh.csv': {
    encoding: 'macintosh',
    header: 1,
    columns: ['N°', 'Nom scientifique', 'Emplacement'],
    plants: ['1 Fagus sylvatica (allée côté forêt)', '2 Castanea sativa (allée)', '3 Acer pseudoplatanus (étang)'],
  },
  'fruit.csv': {
    header: 1,
    columns: ['', 'species_latin + name', ''],
    plants: ['Prunus dulcis Nonpareil', 'Prunus dulcis Mission', 'Persea americana Hass', 'Persea americana Fuerte'],
  },
  'gbif-occurrences.tsv': {
    isQuoted: false,
    header: 1,
    columns: ['gbifID', 'scientificName', 'locality'],
    plants: [
      '4011 Abies alba Mill. ("La Pena)',
      '4012 Quercus robur L. (along the path)',
      '4013 Rosa canina L. ("Old mill" meadow)',
      '4014 Betula pendula Roth (Spring, "upper)',
      '4015 Fagus sylvatica L. (15" below the wall)',
      '4016 Taxus baccata L. (churchyard")',
    ],
  },
  'genus-above.csv': {
    header: 1,
    columns: ['', 'Genus + Species', 'Location'],
    plants: ['Acer palmatum (B1)', 'Acer campestre (B2)', 'Rosa glauca (B3)', 'Rosa canina (B3)'],
    refused: 2,
  },
  'german.csv': {
    encoding: 'windows-1252',
    header: 1,
    columns: ['Nr.', 'Gattung + Art + Sorte', 'Standort'],
    plants: [
      '1 Salvia nemorosa Caradonna (Beet 7)',
      '2 Geranium ×cantabrigiense Biokovo (Beet 7)',
      '3 Häberlea ferdinandi (Tröge)',
    ],
  },
  'greek.csv': {
    encoding: 'windows-1253',
    header: 1,
    columns: ['Αριθμός', 'Επιστημονικό όνομα', 'Θέση'],
    plants: ['1 Olea europaea (κήπος)', '2 Quercus coccifera (λόφος)', '3 Platanus orientalis (ρέμα)'],
  },
  'guarded.csv': {
    header: 1,
    columns: ['', 'Name', 'Bed'],
    plants: ["'+Laburnocytisus adamii ('-3)", "'=Bed list (B1)", "Tilia cordata ('@gate)"],
  },
  'head-needs.csv': {
    header: 1,
    columns: ['', 'Scientific name', ''],
    plants: ['Amorphophallus titanum', 'Cephalotus follicularis', 'Phormium tenax'],
  },
  'herbarium.csv': {
    header: 1,
    columns: ['', 'Taxon', ''],
    plants: ['Gentiana acaulis', 'Gentiana verna', 'Soldanella alpina'],
  },
  'homebox.csv': {
    header: 1,
    columns: ['', 'HB.name', 'HB.location'],
    plants: ['Acer palmatum (Greenhouse / Bench 1)', 'Rosa glauca (Greenhouse / Bench 2)'],
  },
  'hortusfox.csv': {
    header: 1,
    columns: ['id', 'name', 'location'],
    plants: ['1 Monstera deliciosa (Living room)', '2 Ficus elastica (Office)'],
  },
  'house-plants.csv': {
    header: 1,
    columns: ['', 'Latin', 'Room'],
    plants: ['Monstera deliciosa (Living room)', 'Ficus elastica (Office)', 'Dracaena trifasciata (Bedroom)'],
  },
  'html-cells.csv': {
    header: 1,
    columns: ['', 'Name', 'Bed'],
    plants: ['<i>Acer palmatum</i> Thunb. (B1)', 'Rosa &amp; Co (B2)', '<a href="x">Ilex</a> aquifolium (B2)'],
  },
  'hybrid-symbols.csv': {
    header: 1,
    columns: [
      '',
      'Genus Hybrid Symbol + Genus + Species Hybrid Symbol + Species + Infraspecific Rank + Infraspecific Epithet + Cultivar',
      '',
    ],
    plants: ['Acer palmatum var. dissectum Garnet', '× Cuprocyparis leylandii Castlewellan', 'Magnolia × soulangeana'],
  },
  'hybrids.csv': {
    header: 1,
    columns: ['', 'Hybrid + Genus + Species + Rank + Epithet 1 + Cultivar', 'Bed'],
    plants: [
      '× Cuprocyparis leylandii (B1)',
      'Acer palmatum var. dissectum (B1)',
      "Magnolia soulangeana 'Elegans' (B2)",
    ],
  },
  'id-blank.csv': {
    header: 1,
    columns: ['', 'nombre', 'ubicacion'],
    plants: ['Salvia officinalis (Caja 5)', 'Rosa canina (Caja 3)'],
  },
  'ids-odd.csv': {
    header: 1,
    columns: ['', 'name', 'tag'],
    plants: [
      'Acer palmatum (B1)',
      'Rosa glauca (B1)',
      'Ilex aquifolium (B1)',
      'Tilia cordata (B1)',
      'Fagus sylvatica (B1)',
      'Cornus mas (B1)',
      'Taxus baccata (B1)',
      'Salix alba (B1)',
      'Abies alba (B1)',
    ],
  },
  'inat.csv': {
    header: 1,
    columns: ['id', 'scientific_name', 'place_guess'],
    plants: ['300000001 Acer palmatum (Bed 3, Kew)', '300000002 Rosa glauca (Bed 4, Kew)'],
  },
  'inches.csv': {
    header: 1,
    columns: ['Nr', 'Name', ''],
    plants: ['1 Rosa glauca', '2 Acer palmatum 10" x 12"', '3 Rosa "Peace"', '5 Tilia, small'],
    refused: 1,
  },
  'index-seminum.csv': {
    header: 0,
    columns: ['Column A', 'Column B', ''],
    plants: ['1 Abies alba Mill.', '2 Picea abies (L.) H.Karst.', '3 Achillea millefolium L.', '4 Arnica montana L.'],
    refused: 6,
  },
  'inventree.csv': {
    header: 1,
    columns: ['id', 'name', 'category_name'],
    plants: ['1 Acer palmatum (Trees)', '2 Rosa glauca (Shrubs)'],
  },
  'irisbg.csv': {
    header: 1,
    columns: ['', 'TaxonName', 'LocationCode'],
    plants: ["Acer palmatum 'Osakazuki' (G1-02)", 'Rosa glauca (G1-03)'],
  },
  'japanese.csv': {
    encoding: 'shift_jis',
    header: 1,
    columns: ['番号', '学名', '場所'],
    plants: ['1 Cerasus × yedoensis (正門前)', '2 Acer palmatum (池のほとり)', '3 Camellia japonica (生け垣)'],
  },
  'joined-bom.csv': {
    header: 1,
    columns: ['', 'Name', 'Bed'],
    plants: ['Acer palmatum (B1)', 'Rosa glauca (B2)'],
    refused: 1,
  },
  'korean.csv': {
    encoding: 'euc-kr',
    header: 1,
    columns: ['번호', '학명', '위치'],
    plants: ['1 Pinus densiflora (정문)', '2 Forsythia koreana (연못가)', '3 Hibiscus syriacus (온실)'],
  },
  'latin-without-name.csv': {
    header: 1,
    columns: ['', 'Column B', ''],
    plants: ['Allium cernuum', 'Amsonia tabernaemontana', 'Chelone glabra', 'Vernonia lettermannii'],
  },
  'latvian.csv': {
    header: 1,
    columns: ['', 'Latīniskais nosaukums', ''],
    plants: ['Acer platanoides', 'Tilia cordata', 'Rosa canina'],
  },
  'leading-zeros.xlsx': {
    header: 1,
    columns: ['Nr', 'Name', 'Bed'],
    plants: ['42 Acer palmatum (007)', '43 Rosa glauca (008)', '44 Ilex aquifolium (012)'],
  },
  'lists-sheet.xlsx': { header: 1, columns: ['', 'Plant', 'Zone'], plants: ['Acer palmatum (N)', 'Rosa glauca (S)'] },
  'mac-cr-with-lf.csv': {
    header: 1,
    columns: ['', 'Name', 'Bed'],
    plants: ['Acer palmatum (B1)', 'Rosa glauca (B2)', 'Ilex aquifolium (B2)'],
  },
  'merged-names.xlsx': {
    header: 3,
    columns: ['', 'Genus + Species', 'House'],
    plants: ['Acer palmatum (H1)', 'Rosa glauca (H1)', 'Ilex aquifolium (H2)'],
  },
  'name-twice.csv': {
    header: 1,
    columns: ['', 'strSciName', ''],
    plants: ['Abies balsamea', 'Carex debilis', 'Rosa blanda'],
  },
  'names-with-commas.txt': {
    isQuoted: false,
    header: 0,
    columns: ['', 'Column A', ''],
    plants: [
      'Abies alba Mill.',
      'Acer platanoides L.',
      'Betula pendula Roth',
      'Amsonia hubrichtii Woodson',
      'Fagus sylvatica L.',
      'Bidens laevis (L.) Britton, Sterns & Poggenb.',
      'Ilex aquifolium L.',
      'Rosa "Peace',
      'Tilia cordata Mill.',
      '"Sunset maple',
    ],
  },
  'namespaces.csv': {
    header: 1,
    columns: [
      '',
      'dwc:genus + dwc:specificEpithet + dwc:taxonRank + dwc:infraspecificEpithet + dwc:cultivarEpithet',
      'dwc:locality',
    ],
    plants: [
      'Acer palmatum var. dissectum (Glade)',
      'Rosa glauca (Rose garden)',
      "Hosta sieboldiana 'Elegans' (Rose garden)",
    ],
  },
  'native-origin.csv': {
    header: 1,
    columns: ['', 'Scientific name', ''],
    plants: ['Hoya carnosa', 'Hoya kerrii', 'Ficus lyrata'],
  },
  'no-header-beds.csv': {
    header: 0,
    columns: ['', 'Column A', 'Column B'],
    plants: ['Abies alba (Bed 3)', 'Acer palmatum (Bed 4)', 'Betula pendula (Bed 5)'],
  },
  'no-header-contacts.csv': {
    header: 0,
    columns: ['', 'Column A', ''],
    plants: ['Rosa canina', 'Salix alba', 'Tilia cordata'],
  },
  'no-header-cultivars.csv': {
    header: 0,
    columns: ['Column A', 'Column B', ''],
    plants: ['1 Ablazing Rim', '2 Absolute Nil', '3 Airs and Arts'],
  },
  'no-header-donors.csv': {
    header: 0,
    columns: ['', 'Column A', ''],
    plants: ['Crocus sativus', 'Galanthus nivalis', 'Iris sibirica'],
  },
  'no-header-numbers.tsv': {
    header: 0,
    columns: ['Column A', 'Column B', 'Column C'],
    plants: ['17 Monstera deliciosa (office)', '18 Ficus benjamina (hall)', '21 Hoya carnosa (hall)'],
  },
  'no-header-rooms.csv': {
    header: 0,
    columns: ['', 'Column A', 'Column B'],
    plants: ['Monstera deliciosa (Büro im 2. Stock)', 'Ficus benjamina (Flur)', 'Hoya carnosa (Küche)'],
  },
  'no-header-yes-no.csv': {
    header: 0,
    columns: ['', 'Column A', ''],
    plants: ['Ilex aquifolium', 'Buxus sempervirens', 'Nerium oleander'],
  },
  'no-value.csv': {
    header: 1,
    columns: ['', 'Name', 'Bed'],
    plants: [
      'Acer palmatum (NA)',
      'Rosa glauca (NULL)',
      'Ilex aquifolium (\\N)',
      'Tilia cordata (NaN)',
      'Fagus sylvatica (None)',
      'NA (B1)',
      'Cornus mas (-)',
    ],
    refused: 2,
  },
  'nursery-list.csv': {
    header: 4,
    columns: ['', 'Botanical Name', 'Location'],
    plants: [
      "Acer palmatum 'Osakazuki' (Tunnel 1)",
      'Magnolia × soulangeana (Tunnel 1)',
      "Rosa 'Peace', grafted (Field)",
    ],
    refused: 1,
  },
  'one-column-named.txt': { header: 1, columns: ['', 'Taxon', ''], plants: ['Aloe vera', 'Crassula ovata'] },
  'one-column.txt': {
    header: 0,
    columns: ['', 'Column A', ''],
    plants: ['Aloe vera', 'Crassula ovata', 'Haworthia attenuata', 'Sansevieria trifasciata'],
  },
  'openpyxl.xlsx': {
    header: 1,
    columns: ['Nr', 'Name', 'Bed'],
    plants: ['1 Abelia × grandiflora', '2  Rosa glauca  (B2)', '9007199254740992 Ilex (B2)'],
  },
  'pandas-index.csv': {
    header: 1,
    columns: ['', 'Name', 'Bed'],
    plants: ['Acer palmatum (B1)', 'Rosa glauca (B2)', 'Ilex aquifolium (B2)'],
  },
  'pandas.xlsx': {
    header: 1,
    columns: ['id', 'name', 'tag'],
    plants: ['101 Acer palmatum (B1)', '102 Rosa glauca'],
    refused: 1,
  },
  'pipe.csv': {
    header: 1,
    columns: ['Nr', 'Name', 'Bed'],
    plants: ['101 Acer palmatum (B1)', '102 Rosa glauca, pink (B2)', '103 Ilex aquifolium (B2)'],
  },
  'polish.csv': {
    encoding: 'windows-1250',
    header: 1,
    columns: ['Numer', 'Nazwa łacińska', 'Miejsce'],
    plants: ['1 Quercus robur (alejka północna)', '2 Sorbus aucuparia (łąka)', '3 Betula pendula (łąka)'],
  },
  'price-list.csv': {
    encoding: 'windows-1252',
    header: 2,
    columns: ['', 'Bezeichnung', ''],
    plants: ['Acer campestre, Heckenpflanze', "Äpfel 'Boskoop' Halbstamm", 'Rose »Gloria Dei«'],
  },
  'products.csv': { header: 1, columns: ['', 'SKU Name', ''], plants: ['6 Inch Nepenthes', 'Boston Fern'] },
  'rank-columns.csv': {
    header: 1,
    columns: ['ACC_NUM', 'GENUS + SPECIES + INFRASPECIFIC_RANK + INFRASPECIFIC_EPITHET + CULTIVAR', ''],
    plants: [
      '1001 Acer palmatum var. dissectum',
      '1002 Acer palmatum f. atropurpureum',
      '1003 Acer palmatum var. dissectum Garnet',
      '1004 Rosa glauca',
    ],
  },
  'rich-texts.xlsx': {
    header: 1,
    columns: ['Nr', 'Name', 'Bed'],
    plants: ['1 Acer palmatum Thunb. (B1)', '2 Rosa glauca Pourr. (B2)', '3 Ilex aquifolium L. (B3)'],
    refused: 1,
  },
  'russian.csv': {
    encoding: 'windows-1251',
    header: 1,
    columns: ['Номер', 'Латинское название', 'Место'],
    plants: ['1 Betula pendula (Аллея)', '2 Tilia cordata (Аллея)', '3 Rosa canina (Розарий)'],
  },
  'seed-bank.csv': {
    header: 1,
    columns: ['', 'GENUS + SPECIES + SUBTAXA', ''],
    plants: ['Hordeum vulgare convar. vulgare', 'Triticum aestivum subsp. compactum', 'Pisum sativum'],
  },
  'seed-list.csv': {
    header: 4,
    columns: ['', 'Species', ''],
    plants: [
      'Acer campestre L.',
      'Acer palmatum Thunb. subsp. amoenum (Carrière) H.Hara',
      'Rosa glauca Pourr.',
      'Rosa canina L.',
    ],
    refused: 4,
  },
  'sheetjs.ods': {
    header: 1,
    columns: ['Nr', 'Name', 'Bed'],
    plants: ["101 Acer palmatum 'Ōsakazuki' (7)", '102 Rosa glauca (8)'],
  },
  'sheetjs.xlsx': {
    header: 1,
    columns: ['Nr', 'Name', 'Bed'],
    plants: ["101 Acer palmatum 'Ōsakazuki' (007)", '102 Rosa glauca (008)'],
  },
  'side-by-side.csv': { header: 1, columns: ['', 'Plant', 'Bed'], plants: ['Acer palmatum (A1)', 'Rosa glauca (A2)'] },
  'small-letters.csv': {
    header: 1,
    columns: ['', 'latin', ''],
    plants: ['Acer palmatum', 'Rosa glauca', 'Tilia cordata'],
  },
  'smart-quotes.csv': {
    header: 1,
    columns: ['', 'Name', 'Bed'],
    plants: ['Acer palmatum, red (B1)', 'Rosa glauca (B2)'],
  },
  'snipe.csv': {
    header: 1,
    columns: ['', 'Name', 'Location'],
    plants: ['Acer palmatum (Greenhouse)', 'Rosa glauca (Bed 2)', 'Ficus (Bed 3)'],
  },
  'some-whole.csv': {
    header: 1,
    columns: ['', 'Genus + Species', 'Room'],
    plants: ['Acalypha hispida (1)', 'Rosa glauca (1)', 'Acer palmatum (2)'],
  },
  'spanish.csv': {
    encoding: 'windows-1252',
    header: 1,
    columns: ['Número', 'Nombre científico', 'Ubicación'],
    plants: ['1 Quercus ilex (jardín)', '2 Olea europaea (jardín)', '3 Arbutus unedo (montaña)'],
  },
  'species-codes.csv': {
    header: 1,
    columns: ['', 'Genus_species', ''],
    plants: ['Pseudotsuga menziesii', 'Pseudotsuga menziesii', 'Crataegus laevigata'],
  },
  'text-formula.csv': {
    header: 1,
    columns: ['Nr', 'Name', 'Bed'],
    plants: ['101 Acer palmatum (007)', '102 Rosa glauca (008)'],
  },
  'trailing.csv': { header: 1, columns: ['', 'Name', 'Bed'], plants: ['Acer palmatum (B1)', 'Rosa glauca (B2)'] },
  'turkish.csv': {
    encoding: 'windows-1254',
    header: 1,
    columns: ['No', 'Latince adı', 'Yer'],
    plants: ['1 Platanus orientalis (giriş)', '2 Pinus nigra (bahçe)', '3 Liquidambar orientalis (göl kıyısı)'],
  },
  'two-headers-tie.csv': {
    header: 2,
    columns: ['', 'Genus + Species', 'House'],
    plants: ['Acer palmatum (H1)', 'Rosa glauca (H1)'],
  },
  'two-headers.csv': {
    header: 2,
    columns: ['', 'Genus + Species + Cultivar', 'House'],
    plants: ['Acer palmatum Osakazuki (H1)', 'Rosa glauca (H1)', 'Ilex aquifolium (H2)'],
  },
  'two-lists.csv': {
    header: 1,
    columns: ['', 'Plant', 'Bed'],
    plants: ['Acer palmatum (B1)', 'Rosa glauca (B2)', 'Tilia cordata (C1)'],
    refused: 1,
  },
  'unicode-text.txt': {
    encoding: 'utf-16le',
    header: 1,
    columns: ['Nr', 'Name', 'Bed'],
    plants: ["101 Acer palmatum 'Ōsakazuki' (007)", '102 Rosa glauca (008)'],
  },
  'utf16be-bom.csv': {
    encoding: 'utf-16be',
    header: 1,
    columns: ['', 'Name', 'Bed'],
    plants: ['Häberlea rhodopensis (B1)', 'Rosa glauca (B2)'],
  },
  'vegetables.csv': {
    header: 1,
    columns: ['', 'Vegetable + Variety', ''],
    plants: ['Tomato Moneymaker', 'Carrot Nantes', 'Lettuce Little Gem'],
  },
  'with-author.csv': {
    header: 1,
    columns: ['', 'Scientific Name with Author', ''],
    plants: ['Abutilon abutiloides (Jacq.) Garcke ex Hochr.', 'Abutilon americanum (L.) Sweet', 'Abies alba Mill.'],
  },
  'years.csv': {
    header: 1,
    columns: ['', 'Name', ''],
    plants: ['Acer palmatum', 'Rosa glauca', 'Tilia cordata'],
  },
  'yes-no.csv': {
    header: 1,
    columns: ['', 'Plant', ''],
    plants: ['Ilex aquifolium', 'Buxus sempervirens', 'Acer negundo'],
  },
}

async function read(name: string): Promise<Required<Expected>> {
  const sheet = await openAsPage(name)
  const { columns, below, encoding, isQuoted, header } = sheet
  const mapping = guess(columns, below, header !== 0)
  const named = (at: number | undefined): string => (at === undefined ? '' : (columns[at] ?? ''))
  const rows = await allOf(plannedRows(rowsOf(sheet), mapping), (row) => plantIn(row, mapping, columns))
  return {
    encoding,
    isQuoted,
    header,
    columns: [named(mapping.id), mapping.name.map(named).join(' + '), named(mapping.tag)],
    plants: rows.flatMap((row) => (typeof row === 'string' ? [] : [textOf(row)])),
    refused: rows.filter((row) => typeof row === 'string').length,
  }
}

const textOf = ({ id, name, tag }: RowPlant): string =>
  [...(id === undefined ? [] : [id]), name, ...(tag === undefined ? [] : [`(${tag})`])].join(' ')

suite('the page reads by itself', () => {
  for (const [name, expected] of Object.entries(SHEETS)) {
    test(name, async () =>
      assert.deepEqual(await read(name), { encoding: 'utf-8', isQuoted: true, refused: 0, ...expected }),
    )
  }

  test('each of the files', () => assert.deepEqual(FILES, Object.keys(SHEETS).toSorted()))
})
