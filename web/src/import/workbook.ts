/** What the page loads only for a workbook. */
export { sheetsIn, type WorkbookFault, type WorkbookSheet } from '../../../src/import/workbook/workbook.ts'
export { workbookOf } from '../../../src/import/workbook/write.ts'
