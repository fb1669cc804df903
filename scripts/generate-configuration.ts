import { environmentName, SETTINGS } from '../src/settings/config.ts'
import type { Setting } from '../src/settings/setting.ts'
import { table } from './markdown.ts'

const INTRODUCTION = `# Configuration

You give a setting as a flag of \`plantstore serve\`, as an environment variable, or in a file. The flag takes precedence
over the variable, the variable over the file, and the file over the default. An empty variable counts as not set.

\`--config FILE\` names the file; by default it is \`.env\` in the working directory, if it exists. Each line is
\`NAME=value\`, with the name of the variable and quotes around a value with spaces, or a comment after \`#\`. The file may
also hold variables of PostgreSQL's clients, such as PGPASSWORD. The program refuses a name that is no setting, and
suggests the nearest one; \`.env\` may also hold names of other programs. It only warns of such a name in the
environment, because platforms set some on their own. Kubernetes, beside a Service named \`plantstore\`, sets
PLANTSTORE_PORT to an address such as \`tcp://10.0.0.11:8080\`: a variable that begins with \`tcp://\`, \`udp://\` or
\`sctp://\` counts as not set, with a warning too.

A secret can stand in a file of its own, as Kubernetes, Docker and systemd mount them: PLANTSTORE_TOKEN_FILE and
PLANTSTORE_STORE_FILE name a file with the value of PLANTSTORE_TOKEN or PLANTSTORE_STORE, for every command. The end of
its last line does not count. Setting both variables is a fault.

\`plantstore serve --print-config\` prints every setting and its source, without secrets, in the form of such a file. On
SIGHUP, a service that does not run in a terminal reads the file again: it applies the log level, and its log names the
other changed settings, which apply from the next start on. A file with faults changes nothing.

- TIME is a whole number with \`ms\`, \`s\` or \`m\`, at most 60m. A timeout of \`0s\` means none.
- SIZE is a whole number with \`MiB\` or \`GiB\`, from 1MiB to 1024GiB.
- A setting that says so can be \`off\`.

The program reports all faults of a configuration together, before it opens anything, and ends with the exit code 2.
`

/** The page of all settings of src/settings/config.ts. */
export function configurationPage(): string {
  return `${INTRODUCTION}\n${table([['flag', 'variable', 'default', 'meaning'], ...Object.values(SETTINGS).map(cells)])}`
}

function cells({ flag, value, fallback, help }: Setting<unknown>): string[] {
  return [code(`--${flag} ${value}`), code(environmentName(flag)), fallback === undefined ? '' : code(fallback), help]
}

const code = (text: string): string => `\`${text}\``
