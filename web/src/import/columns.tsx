import type { JSX } from 'preact'
import { useRef } from 'preact/hooks'
import type { Mapping, Separator } from '../../../src/import/csv-rows.ts'
import { FromAbove } from '../../../src/import/sheet/from-above.ts'
import { ENCODINGS, type Encoding } from '../../../src/import/sheet/guess-encoding.ts'
import { notKept } from '../../../src/import/sheet/look.ts'
import { IN_CHOICE, rowText, shownIn } from '../../../src/import/sheet/row-text.ts'
import type { Reading } from '../../../src/import/sheet/sheet.ts'
import type { RowPlant } from '../../../src/import/sheet/sheet-plants.ts'
import { languageName, listOf, say } from '../language/language.ts'
import { sayWith } from '../language/say-with.ts'
import type { PlainKey } from '../language/texts.ts'
import { Check, Choice } from '../page/controls.tsx'
import { Sentence } from '../page/sentence.tsx'
import { plantIn } from './plant-row.ts'
import { RowsTable, type TableRow } from './rows-table.tsx'
import type { Mode } from './run.ts'
import type { Sheet } from './sheet.ts'
import type { WorkbookSheet } from './workbook.ts'

interface ColumnsProps {
  readonly sheet: Sheet
  readonly workbook: WorkbookSheet | undefined
  readonly mapping: Mapping
  readonly mode: Mode
  readonly isLocked: boolean
  readonly onMapping: (mapping: Mapping) => void
  readonly onMode: (mode: Mode) => void
  readonly onReopen: (chosen: Reading) => void
}

/** Lets the person say how to read a file, and previews its first plants. */
export function Columns(props: ColumnsProps): JSX.Element {
  const { sheet, workbook, mapping, mode, isLocked, onMapping, onMode, onReopen } = props
  const { encoding, separator, isQuoted, header } = sheet
  const choice = (title: string, value: number | undefined, none: string, take: (at: number | undefined) => void) => (
    <Choice
      label={title}
      value={String(value ?? '')}
      options={[['', none], ...sheet.columns.map((column, i): [string, string] => [String(i), column])]}
      onChoose={(chosen) => take(chosen === '' ? undefined : Number(chosen))}
    />
  )
  /** Chooses a part of the name. Without a column the part goes, and with it a gap. */
  const takePart = (part: number) => (at: number | undefined) => {
    const before = mapping.name.slice(0, part)
    const after = mapping.name.slice(part + 1)
    onMapping({ ...mapping, name: at === undefined ? [...before, ...after] : [...before, at, ...after] })
  }
  const parts = mapping.name.length < sheet.columns.length ? [...mapping.name, undefined] : mapping.name
  return (
    <fieldset disabled={isLocked} class="columns">
      <legend>{say('import.columns')}</legend>
      <div class="fields">
        <Choice
          label={say('import.namesIn')}
          value={header}
          options={[
            [0, say('import.noRow')],
            ...sheet.first.map((row): [number, string] => [
              row.number,
              say('import.rowStart', { row: String(row.number), start: rowText(row, IN_CHOICE) }),
            ]),
          ]}
          onChoose={(chosen) => onReopen({ encoding, separator, isQuoted, header: chosen })}
        />
        {choice(say('plants.id'), mapping.id, say('import.noId'), (id) => onMapping({ ...mapping, id }))}
        {parts.map((part, i) =>
          i === 0
            ? choice(say('plants.name'), part, say('import.chooseColumn'), takePart(i))
            : choice(say('import.namePart', { part: i + 1 }), part, say('import.nothingMore'), takePart(i)),
        )}
        {choice(say('plants.tag'), mapping.tag, say('import.noTag'), (tag) => onMapping({ ...mapping, tag }))}
      </div>
      {mapping.name.length === 0 ? <RawPreview sheet={sheet} /> : <Preview sheet={sheet} mapping={mapping} />}
      {workbook !== undefined && workbook.filled > 0 && (
        <p class="note">{say('import.filled', { count: workbook.filled })}</p>
      )}
      <div class="fields">
        <Choice
          label={say('import.existing')}
          value={mode}
          options={[
            ['add', say('import.stay')],
            ['update', say('import.become')],
          ]}
          onChoose={onMode}
        />
      </div>
      {workbook === undefined && <ReadAs sheet={sheet} onReopen={onReopen} />}
    </fieldset>
  )
}

/** Lets the person say how the bytes of a file are cells. A workbook says it itself. */
function ReadAs({ sheet, onReopen }: Pick<ColumnsProps, 'sheet' | 'onReopen'>): JSX.Element {
  const { encoding, separator, isQuoted } = sheet
  /** The file that was doubtful once: what the person chose then stays in sight. */
  const doubtful = useRef<File | undefined>(undefined)
  if (isDoubtful(sheet)) doubtful.current = sheet.file
  return (
    <details open={doubtful.current === sheet.file}>
      <summary>
        {say('import.readAs', { encoding: encodingName(encoding), separator: say(SEPARATORS[separator]) })}
      </summary>
      <p class="note">{say('import.readAsNote')}</p>
      <div class="fields">
        <Choice
          label={say('import.encoding')}
          value={encoding}
          options={ENCODINGS.map((each) => [each, encodingName(each)])}
          onChoose={(chosen) => onReopen({ encoding: chosen, separator, isQuoted })}
        />
        <Choice
          label={say('import.separator')}
          value={separator}
          options={Object.entries(SEPARATORS).map(([each, key]) => [each, say(key)])}
          onChoose={(chosen) => onReopen({ encoding, separator: chosen as Separator })}
        />
        <Check isOn={isQuoted} onChange={(isOn) => onReopen({ encoding, separator, isQuoted: isOn })}>
          {say('import.quoted')}
        </Check>
      </div>
    </details>
  )
}

/**
 * Whether the texts may be misread: the encoding is a guess, characters could not be read, all of a row is one cell, or
 * a quotation mark is at a wrong place.
 */
const isDoubtful = ({ encoding, isQuoted, columns, preview }: Sheet): boolean =>
  !encoding.startsWith('utf-') ||
  !isQuoted ||
  columns.length < 2 ||
  columns.some((name) => name.includes('\ufffd')) ||
  preview.some(({ cells, fault }) => fault !== undefined || cells.some((cell) => cell?.includes('\ufffd') === true))

const SEPARATORS = {
  ',': 'import.comma',
  ';': 'import.semicolon',
  '\t': 'import.tab',
  '|': 'import.bar',
} as const satisfies Record<Separator, PlainKey>

function encodingName(encoding: Encoding): string {
  if (encoding === 'utf-16be') return say('import.utf16be')
  if (encoding === 'windows-1252') return say('import.windows')
  const [name, languages = []] = NAMES[encoding]
  return languages.length === 0 ? name : `${name} (${listOf(languages.map(languageName))})`
}

/** Names of encodings, and languages that people write in them. */
const NAMES: Readonly<Record<Exclude<Encoding, 'utf-16be' | 'windows-1252'>, readonly [string, string[]?]>> = {
  'utf-8': ['UTF-8'],
  'utf-16le': ['UTF-16'],
  macintosh: ['Macintosh (Mac Roman)'],
  'windows-1250': ['Windows-1250', ['pl', 'cs', 'hu']],
  'windows-1251': ['Windows-1251', ['ru', 'uk']],
  'windows-1253': ['Windows-1253', ['el']],
  'windows-1254': ['Windows-1254', ['tr']],
  shift_jis: ['Shift JIS', ['ja']],
  gb18030: ['GB 18030', ['zh']],
  'euc-kr': ['EUC-KR', ['ko']],
}

/** Shows all columns of the sheet, so that the person can tell which one has the names. */
function RawPreview({ sheet: { columns, preview } }: { readonly sheet: Sheet }): JSX.Element {
  return (
    <RowsTable
      title={say('import.firstRows')}
      heads={[say('import.row'), ...columns.map((column, i) => <Own key={i} text={column} />)]}
      rows={preview.map(({ number, cells }) => ({ row: number, cells: columns.map((_, i) => shownIn(cells[i])) }))}
    />
  )
}

/** A text of the sheet. */
const Own = ({ text }: { readonly text: string }): JSX.Element => <bdi translate={false}>{text}</bdi>

function Preview({ sheet, mapping }: { readonly sheet: Sheet; readonly mapping: Mapping }): JSX.Element {
  const left = notKept(sheet.columns, mapping)
  const genera = FromAbove.genus(mapping)
  const cellsOf = (plant: RowPlant | string): TableRow['cells'] => {
    if (typeof plant === 'string') return [<Sentence key="why" text={plant} />]
    const { id, name, tag } = plant
    return [id === undefined ? <em key="id">{say('plants.nextFree')}</em> : String(id), name, tag]
  }
  return (
    <>
      <RowsTable
        title={say('import.firstPlants')}
        heads={[say('import.row'), say('plants.id'), say('plants.name'), say('plants.tag')]}
        rows={sheet.preview.map((row) => ({
          row: row.number,
          cells: cellsOf(plantIn(genera.fill(row), mapping, sheet.columns)),
        }))}
      />
      {left.length > 0 && (
        <p class="note">{sayWith('import.notKept', { count: left.length, columns: <Own text={listOf(left)} /> })}</p>
      )}
    </>
  )
}
