import assert from 'node:assert/strict'
import { test } from 'node:test'
import { textOfCell } from '../../src/import/workbook/cells.ts'

test('a date of a workbook counts its days from 1900, or from 1904 where the workbook says so', () => {
  const dateIn = (isFrom1904: boolean, days: string) =>
    textOfCell('', '0', days, { texts: [], styles: ['date'], isFrom1904 })
  assert.deepEqual(
    ['1', '45000', '45000.5'].map((days) => dateIn(false, days)),
    ['1900-01-01', '2023-03-15', '2023-03-15 12:00'],
  )
  assert.deepEqual(
    ['1', '43538', '43538.5'].map((days) => dateIn(true, days)),
    ['1904-01-02', '2023-03-15', '2023-03-15 12:00'],
  )
})
