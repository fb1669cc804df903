import { environmentName, SETTINGS } from '../src/config.ts'
import type { Setting } from '../src/setting.ts'
import { table } from './markdown.ts'

const INTRODUCTION = `# Configuration

A setting is given as a flag of \`plantstore serve\`, as an environment variable, or in a file. The flag goes first, then
the variable, then the file, then the default; a variable that is empty counts as not set.

\`--config FILE\` names the file; by default it is \`.env\` in the working directory, if it exists. Each line is
\`NAME=value\`, with the name of the variable and quotes around a value with spaces, or a comment after \`#\`. The file may
also hold variables of PostgreSQL's clients, such as PGPASSWORD. The program refuses a name that is no setting, and
suggests the nearest one; \`.env\` may also hold names of other programs. It only warns of such a name in the
environment, because platforms set some on their own.

\`plantstore serve --print-config\` prints every setting and where it comes from, without secrets, in the form of such a
file. On SIGHUP, a service that does not run in a terminal reads the file again: it takes over the log level, and names in
its log the changed settings that hold only from the next start on. A file with faults changes nothing.

Traces are on where OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT names a collector; the other
variables are [those of OpenTelemetry](../guides/monitoring.md#traces).

- TIME is a whole number with \`ms\`, \`s\` or \`m\`, at most 60m. A timeout of \`0s\` is none.
- SIZE is a whole number with \`B\`, \`KiB\` or \`MiB\`, at most 512MiB; without a unit it is bytes.
- A setting that says so can be \`off\`.

Everything that is wrong with a configuration is reported together, before anything is opened, and the exit code is 2.
`

/** Every setting of src/config.ts. */
export function configurationPage(): string {
  return `${INTRODUCTION}\n${table([['flag', 'variable', 'default', 'meaning'], ...Object.values(SETTINGS).map(cells)])}`
}

function cells({ flag, value, fallback, help }: Setting<unknown>): string[] {
  return [code(`--${flag} ${value}`), code(environmentName(flag)), fallback === undefined ? '' : code(fallback), help]
}

const code = (text: string): string => `\`${text}\``
