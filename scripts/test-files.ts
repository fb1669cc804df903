// Which command runs which files of tests: a file belongs to a command by its folder.
import { dirname } from 'node:path/posix'
import { filesOf } from './repository.ts'

/** `npm test`, `npm run test:page` and `npm run test:hard`, by the folder of their files; the first has all others. */
const FOLDERS = { whole: 'test', page: 'test/page', hard: 'test/hard' } as const

export type TestCommand = keyof typeof FOLDERS
export const TEST_COMMANDS = Object.keys(FOLDERS) as TestCommand[]

/** The command that runs the tests of a file. */
export const commandOf = (file: string): TestCommand =>
  TEST_COMMANDS.findLast((command) => file.startsWith(`${FOLDERS[command]}/`)) ?? 'whole'

const ALL = filesOf('test/**/*.test.ts')
/** A file with the name of a folder runs the files of that folder in its process. */
const runsAlone = (file: string): boolean => !ALL.includes(`${dirname(file)}.test.ts`)

/** The files that take the longest, each with a browser. At the end, they would run alone. */
const isLong = (file: string): boolean => file.startsWith('test/ways/')

/** The files that a command hands to Node.js, a process for each, which begin in this order. */
export const filesToRun = (command: TestCommand): string[] =>
  ALL.filter((file) => commandOf(file) === command && runsAlone(file)).toSorted(
    (a, b) => Number(isLong(b)) - Number(isLong(a)),
  )
