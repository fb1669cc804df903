import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { cleanUp } from '../../support/clean-up.ts'
import { tempFolder } from '../../support/files.ts'
import { freePort } from '../../support/free-port.ts'
import { blockIn, machineNode } from '../../support/guide.ts'
import { notTestedHere, runs } from '../../support/not-tested.ts'
import { withService } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import { createdWebhook, LOCAL } from '../../support/webhooks.ts'

const PAGE = 'docs/guides/webhooks.md'

/** Runs the receiver of the guide in a language, and returns the lines that it prints. */
async function followed(t: TestContext, language: string, command: string, file: string): Promise<void> {
  const service = await withService(t, LOCAL)
  const [folder, port] = [tempFolder(t), await freePort()]
  const url = `http://127.0.0.1:${port}/`
  const { id, secret } = await createdWebhook(service, { url })
  writeFileSync(join(folder, file), blockIn(PAGE, language))
  mkdirSync(join(folder, 'node_modules'))
  for (const name of ['standardwebhooks', '@stablelib', 'fast-sha256']) {
    symlinkSync(
      fileURLToPath(new URL(`../../../node_modules/${name}`, import.meta.url)),
      join(folder, 'node_modules', name),
    )
  }
  const receiver = spawn(command, [file], {
    cwd: folder,
    env: { ...process.env, WEBHOOK_SECRET: secret, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  cleanUp(t, () => void receiver.kill())
  const lines: string[] = []
  createInterface(receiver.stdout).on('line', (line) => lines.push(line))
  const tested = async () => (await service.send('POST', `/webhooks/${id}/test`)).json as { status?: number }
  await until(async () => (await tested()).status === 204, 'the receiver does not answer')
  await service.sendJson('POST', '/plants', '{"id":9007199254740993,"name":"Fern"}')
  await until(() => lines.some((line) => line.includes('9007199254740993')), 'the plant does not arrive')
  const forged = await fetch(url, {
    method: 'POST',
    headers: {
      'webhook-id': 'x',
      'webhook-timestamp': String(Math.floor(Date.now() / 1000)),
      'webhook-signature': 'v1,AAAA',
    },
    body: '{}',
  })
  assert.equal(forged.status, 401)
}

test('the receiver of the guide in JavaScript verifies and prints a plant', (t) =>
  followed(t, 'js', machineNode(), 'receiver.mjs'))

test('the receiver of the guide in Python verifies and prints a plant', (t) => {
  if (!runs('python3', '--version')) return notTestedHere(t, 'the receiver in Python, because there is no python3')
  return followed(t, 'python', 'python3', 'receiver.py')
})
