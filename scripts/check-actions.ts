// Checks that the workflows pin every action by its commit, because a tag can move to other code.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { filesOf, ROOT, report } from './repository.ts'

const workflows = filesOf('.github/workflows/*.{yml,yaml}')
report(
  workflows.flatMap((path) =>
    readFileSync(join(ROOT, path), 'utf8')
      .split('\n')
      .flatMap((line, i) => {
        const action = /^\s*(?:-\s*)?uses:\s*(\S+)/.exec(line)?.[1]
        const isPinned = action === undefined || /^\.\/|@[0-9a-f]{40}$/.test(action)
        return isPinned ? [] : [`${path}:${i + 1}: ${action} is not pinned by a commit`]
      }),
  ),
  `the actions of ${workflows.length} workflows are pinned by commit`,
)
