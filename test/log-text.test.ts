import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { logText } from '../src/cli/log.ts'
import { tempFolder } from './support/files.ts'
import { send } from './support/load.ts'
import { notTestedHere } from './support/not-tested.ts'
import { startServer } from './support/process.ts'
import { hasTerminal, ON_TERMINAL } from './support/terminal.ts'

const line = (members: object) =>
  logText(`${JSON.stringify({ level: 30, time: '2026-11-21T09:29:45.446Z', ...members })}\n`)

suite('a line of the log as text', () => {
  test('has the time of day, the level, the message, and all other members', () => {
    assert.equal(
      line({ req: 'c7-f', method: 'GET', status: 404, scopes: ['a'], msg: 'refused: no such path' }),
      '09:29:45.446  INFO   refused: no such path  req=c7-f method=GET status=404 scopes=["a"]\n',
    )
    assert.equal(line({ level: 50, msg: 'x' }), '09:29:45.446  ERROR  x\n')
    assert.equal(line({ level: 99 }), '09:29:45.446  99\n')
  })

  test('escapes control characters, and stays one line', () => {
    assert.equal(
      line({ path: '/a\n\u001b[2J\u202eb', msg: 'a\r\nb' }),
      '09:29:45.446  INFO   a b  path="/a\\n\\u001b[2J\\u{202e}b"\n',
    )
    assert.equal(line({ path: '/a\u001b' }), '09:29:45.446  INFO   path=/a\\u{1b}\n')
  })

  test('quotes a text with blanks, so that it cannot pass for other members', () => {
    assert.equal(
      line({ msg: 'audit', tokenName: 'a outcome=refused', token: 'x"y', plant: '17' }),
      '09:29:45.446  INFO   audit  tokenName="a outcome=refused" token="x\\"y" plant=17\n',
    )
  })

  test('shows the stack of its error below', () => {
    const err = { type: 'Error', message: 'no', stack: 'Error: no\n    at a\u001b (b:1)' }
    assert.equal(
      line({ msg: 'failed', err }),
      '09:29:45.446  INFO   failed\n    Error: no\n        at a\\u{1b} (b:1)\n',
    )
    assert.equal(line({ msg: 'failed', err: null }), '09:29:45.446  INFO   failed\n')
  })
})

const AUDITED =
  /^\S+ {2}INFO {3}audit {2}operation=createPlant outcome=created plant=1 token=configured .* req=\S+\s*$/m

suite('the log, with the audit log in it,', () => {
  test('is text on a terminal', async (t) => {
    if (!hasTerminal) return notTestedHere(t, 'a log on a terminal, as there is no command script')
    const env = { PLANTSTORE_LOG_LEVEL: 'debug' }
    const { program, address } = await startServer(t, tempFolder(t), [], { under: ON_TERMINAL, env })
    await send('POST', `${address.trim()}/plants`, { body: '{"id":1,"name":"a"}' })
    const told = await program.says((said) => /^\S+ {2}DEBUG {2}answered .*$/m.exec(said)?.[0])
    await program.says((said) => AUDITED.exec(said)?.[0])
    assert.match(
      told,
      /^\d\d:\d\d:\d\d\.\d{3} .* req=\S+ operation=createPlant method=POST path=\/plants .* status=200/,
    )
  })

  test('is JSON elsewhere, and in the format of --log-format', async (t) => {
    const env = { PLANTSTORE_LOG_LEVEL: 'info' }
    const [json, text] = await Promise.all([
      startServer(t, tempFolder(t), [], { env }),
      startServer(t, tempFolder(t), ['--log-format', 'text'], { env }),
    ])
    await Promise.all([json.program.tells(/"msg":"serving"/), text.program.tells(/ INFO {3}serving {2}host=127/)])
    for (const { address } of [json, text]) {
      await send('POST', `${address}/plants`, { body: '{"id":1,"name":"a"}' })
    }
    await Promise.all([json.program.tells(/"msg":"audit".*\n/), text.program.tells(AUDITED)])
    for (const told of json.program.stderr.trim().split('\n')) JSON.parse(told)
    assert.doesNotMatch(text.program.stderr, /^\{/m)
  })
})
