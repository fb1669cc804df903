import assert from 'node:assert/strict'
import { suite } from 'node:test'
import type { Page } from 'playwright-core'
import { hashSecret, makeSecret, makeTokenId, SCOPES, type Token } from '../../src/domain/token.ts'
import { assertAccessible, assertAtBothSizes } from '../support/accessible.ts'
import { openMenu, openView, pressOn, signOut, signOver, tabTo, untilFocused } from '../support/by-keyboard.ts'
import { PHONE, pageTests, until } from '../support/page.ts'
import { holdAnswers, NO_NETWORK, withoutWaits } from '../support/page-network.ts'
import { line } from '../support/page-plants.ts'
import { codesIn } from '../support/pdf-pages.ts'
import { SECRET, type Service } from '../support/service.ts'
import { as, untilRefused } from '../support/tokens.ts'

/** Stores a token that may read plants. */
async function store(service: Service, parts: Partial<Token>): Promise<{ secret: string; token: Token }> {
  const times = { createdAt: new Date(), expiresAt: undefined, lastUsedAt: undefined, revokedAt: undefined }
  const token: Token = { id: makeTokenId(), name: 'x', scopes: ['plants:read'], ...times, ...parts }
  const secret = makeSecret()
  await service.store.tokens.createToken(token, hashSecret(secret))
  return { secret, token }
}

const FIELD = 'What is the token for?'

/** Creates a token in the form, with what the person has chosen there. */
async function create(page: Page, name: string): Promise<void> {
  await page.getByLabel(FIELD).fill(name)
  await page.getByRole('button', { name: 'Create a token' }).click()
}

const secretOf = (page: Page, name: string): Promise<string> => page.getByLabel(`The secret of ${name}`).inputValue()

const copied = (page: Page, name: string): Promise<void> =>
  page.getByRole('button', { name: `I have copied it: ${name}` }).click()

suite('tokens on the page', () => {
  const { inBrowser, onPhone } = pageTests()

  onPhone('can be created, listed and revoked by keyboard alone', async ({ page, service }) => {
    await openView(page, 'Tokens')
    const name = `label printer ${PHONE.width}`
    await tabTo(page, page.getByLabel(FIELD))
    await page.keyboard.type(name)
    await pressOn(page, page.getByLabel('Add, change, delete and import plants'), 'Space')
    await tabTo(page, page.getByLabel('Only plants with these tags'))
    await page.keyboard.type('greenhouse 1/\nbed 3\n')
    await tabTo(page, page.getByLabel('Last day'))
    await page.keyboard.type('12312099')
    await pressOn(page, page.getByRole('button', { name: 'Create a token' }))
    const field = page.getByLabel(`The secret of ${name}`)
    await tabTo(page, field)
    const secret = await field.inputValue()
    const authorization = `Bearer ${secret}`
    const own = await service.send('GET', '/tokens/self', { authorization })
    const { scopes, part } = own.json as Token
    assert.deepEqual({ scopes, part }, { scopes: ['plants:read', 'plants:write'], part: ['greenhouse 1/', 'bed 3'] })
    const listed = page.getByRole('listitem').filter({ hasText: name })
    await listed.getByText('Plants tagged greenhouse 1/…, bed 3').waitFor()
    await page.getByText(name, { exact: true }).first().waitFor()
    await listed.getByText(/expires Dec 31, 2099/).waitFor()
    await pressOn(page, page.getByRole('button', { name: `I have copied it: ${name}` }))
    await field.waitFor({ state: 'detached' })
    const revoke = page.getByRole('button', { name: new RegExp(`^Revoke: ${name}`) })
    await pressOn(page, revoke)
    const dialog = page.getByRole('dialog', { name: `Revoke ${name}?` })
    await dialog.waitFor()
    await page.keyboard.press('Escape')
    await untilFocused(page, revoke)
    assert.equal((await service.send('GET', '/tokens/self', { authorization })).status, 200)
    await page.keyboard.press('Enter')
    await pressOn(page, dialog.getByRole('button', { name: 'Revoke', exact: true }))
    await page.getByText(`Revoked ${name}`).waitFor()
    await untilFocused(page, page.getByRole('listitem').filter({ hasText: name }))
    await untilRefused(service, secret)
    await page.reload()
    await listed.getByText(/revoked \w+ \d/).waitFor()
    assert.equal(await page.getByText(secret).count(), 0)
  })

  onPhone('get a new secret by keyboard alone, beside the old one', async ({ page, service }) => {
    const name = `gate ${PHONE.width}`
    const { secret, token } = await store(service, { name })
    await openView(page, 'Tokens')
    const rotate = page.getByRole('button', { name: `New secret: ${name} (${token.id})` })
    await pressOn(page, rotate)
    const dialog = page.getByRole('dialog', { name: `A new secret for ${name}?` })
    await dialog.waitFor()
    await page.keyboard.press('Escape')
    await untilFocused(page, rotate)
    await page.keyboard.press('Enter')
    await tabTo(page, dialog.getByLabel('The old secret works'))
    await page.keyboard.type('for an hour')
    await pressOn(page, dialog.getByRole('button', { name: 'New secret', exact: true }))
    const field = page.getByLabel(`The secret of ${name}`)
    await untilFocused(page, field)
    await page.getByText(new RegExp(`The old secret, of ${token.id}, works until \\w`)).waitFor()
    await assertAtBothSizes(page)
    const made = await field.inputValue()
    for (const each of [secret, made]) {
      const own = await service.send('GET', '/tokens/self', as(each))
      assert.deepEqual((own.json as { scopes: string[] }).scopes, token.scopes)
    }
    const items = page.getByRole('listitem').filter({ hasText: name })
    await line(items.filter({ hasText: token.id }), /expires \w/)
    assert.equal(await items.count(), 2)
    await pressOn(page, page.getByRole('button', { name: `I have copied it: ${name}` }))
    await page.reload()
    const replaced = page.getByRole('listitem').filter({ hasText: token.id })
    await replaced.getByText(/expires \w/).waitFor()
    assert.equal(await replaced.getByText('Ends in less than a day').count(), 0)
    assert.equal(await page.getByText(made).count(), 0)
  })

  onPhone('that end soon or are not used come first, each with the reason', async ({ page, service }) => {
    const days = (count: number) => new Date(Date.now() + count * 86_400_000)
    const at = `at ${PHONE.width}`
    await store(service, { name: `ending ${at}`, expiresAt: days(3.5) })
    await store(service, { name: `unused ${at}`, createdAt: days(-200), lastUsedAt: days(-100.5) })
    const { token } = await store(service, { name: `forgotten ${at}`, createdAt: days(-91.5), expiresAt: days(6.5) })
    const lasting = { name: `lasting ${at}`, createdAt: days(-200), lastUsedAt: days(-80) }
    await store(service, { ...lasting, expiresAt: days(8) })
    await store(service, { name: `over ${at}`, expiresAt: days(-1), createdAt: days(-200) })
    await store(service, { name: `revoked ${at}`, revokedAt: days(-1), createdAt: days(-200) })
    await openView(page, 'Tokens')
    const soon = page.getByRole('list', { name: 'Tokens to look at' }).getByRole('listitem').filter({ hasText: at })
    await line(soon.filter({ hasText: `ending ${at}` }), 'Ends in 3 days')
    await line(soon.filter({ hasText: `unused ${at}` }), 'Not used for 100 days')
    const forgotten = soon.filter({ hasText: `forgotten ${at}` })
    await forgotten.getByText('Ends in 6 days. Never used in 91 days').waitFor()
    assert.equal(await soon.count(), 3)
    const others = page.getByRole('list', { name: 'All other tokens' }).getByRole('listitem').filter({ hasText: at })
    assert.equal(await others.count(), 3)
    assert.equal(await others.getByRole('button', { name: 'New secret' }).count(), 1)
    await assertAtBothSizes(page)
    await pressOn(page, page.getByRole('button', { name: `Revoke: forgotten ${at} (${token.id})` }))
    await pressOn(page, page.getByRole('button', { name: 'Revoke', exact: true }))
    await untilFocused(page, forgotten.getByRole('button').or(forgotten))
    await forgotten.getByText(/revoked \w/).waitFor()
  })

  inBrowser('of one name have their ids in the titles, and the name typed next stays alone', async ({ page }) => {
    await openView(page, 'Tokens')
    for (const count of [1, 2]) {
      await create(page, 'twin')
      await until(page, `document.querySelectorAll('.secret').length === ${count}`)
    }
    assert.equal(await page.getByLabel(/^The secret of twin \(tok_\w+\)/).count(), 2)
    const answer = await holdAnswers(page, '**/tokens', 'POST')
    await page.getByLabel(FIELD).fill('third')
    await page.keyboard.press('Enter')
    await answer.untilHeld()
    await page.keyboard.type('fourth')
    answer()
    await until(page, `document.querySelectorAll('.secret').length === 3`)
    assert.equal(await page.getByLabel(FIELD).inputValue(), 'fourth')
  })

  inBrowser('tell what follows where no other one may manage tokens', async ({ page, service }) => {
    const { token } = await store(service, { name: 'sole', scopes: ['tokens'] })
    const all = (await service.send('GET', '/tokens?limit=1000')).json as Token[]
    for (const { id, scopes } of all)
      if (id !== token.id && scopes.includes('tokens')) await service.send('DELETE', `/tokens/${id}`)
    await openView(page, 'Tokens')
    await page.getByRole('button', { name: `Revoke: sole (${token.id})` }).click()
    await page.getByRole('dialog').getByText('Without it, only the operator can create some.').waitFor()
    await page.getByRole('button', { name: 'Revoke', exact: true }).click()
    await page.getByText('Revoked sole').waitFor()
  })

  inBrowser('revoked: the notice of that leaves after 8 s, unless someone points at it', async ({ page, service }) => {
    await page.clock.install()
    for (const name of ['read', 'unread']) await store(service, { name, scopes: ['plants:read'] })
    await openView(page, 'Tokens')
    const noticeOf = (name: string) => page.locator('.notice', { hasText: `Revoked ${name}` })
    for (const name of ['read', 'unread']) {
      await page.getByRole('button', { name: new RegExp(`^Revoke: ${name} `) }).click()
      await page.getByRole('button', { name: 'Revoke', exact: true }).click()
      await noticeOf(name).waitFor()
    }
    await noticeOf('unread').hover()
    await page.clock.runFor(8000)
    await noticeOf('read').waitFor({ state: 'detached' })
    assert.equal(await noticeOf('unread').count(), 1)
    await page.mouse.move(0, 0)
    await page.clock.runFor(8000)
    await noticeOf('unread').waitFor({ state: 'detached' })
  })

  inBrowser('get no new secret without the right, or without a network', { expected: NO_NETWORK }, async (opened) => {
    const { page, context, service, address } = opened
    const { token } = await store(service, { name: 'wide' })
    const rotate = async (seconds: string) => {
      await page.getByRole('button', { name: `New secret: wide (${token.id})` }).click()
      await page.getByLabel('The old secret works').selectOption(seconds)
      await page.getByRole('button', { name: 'New secret', exact: true }).click()
    }
    const { secret } = await service.issueToken(['tokens'])
    await page.clock.install()
    await signOver(page, address, secret)
    await rotate('0')
    await line(page, '“New secret: wide” failed. A token can rotate only tokens that have no scope beyond')
    await signOver(page, address, SECRET)
    await openView(page, 'Tokens')
    // The list comes before the network is gone.
    await page.getByRole('button', { name: `New secret: wide (${token.id})` }).waitFor()
    await context.setOffline(true)
    await rotate('0')
    await withoutWaits(page, page.getByText('“New secret: wide” failed. The service cannot be reached.'))
    await context.setOffline(false)
    await rotate('0')
    await page.getByText(`The old secret, of ${token.id}, no longer works.`).waitFor()
  })

  inBrowser('with which the person is signed in get a secret, and do not end at once', async (opened) => {
    const { page, service, address } = opened
    const { secret, token } = await store(service, { name: 'mine', scopes: SCOPES })
    await signOver(page, address, secret)
    await openView(page, 'Tokens')
    await page.getByRole('button', { name: `New secret: mine (${token.id})` }).click()
    await page.getByText('You are signed in with the old one').waitFor()
    const offered = await page.getByLabel('The old secret works').getByRole('option').allTextContents()
    assert.deepEqual(offered, ['for an hour', 'for a day', 'for 7 days'])
    await page.getByRole('button', { name: 'New secret', exact: true }).click()
    const made = await secretOf(page, 'mine')
    assert.equal((await service.send('GET', '/tokens/self', as(made))).status, 200)
    await copied(page, 'mine')
  })

  inBrowser('make others within their scopes and part alone', async ({ page, service, address }) => {
    const { secret } = await store(service, { name: 'volunteers', scopes: ['tokens'], part: ['greenhouse 1/'] })
    await signOver(page, address, secret)
    await page.getByText('Your token is for a part of the plants').waitFor()
    await page.getByLabel(FIELD).fill('another bed')
    assert.equal(await page.getByRole('group', { name: 'The token may' }).getByRole('checkbox').count(), 1)
    await page.getByLabel('Create, list and revoke tokens').check()
    await page.getByLabel('Only plants with these tags').fill('bed 3')
    await page.getByRole('button', { name: 'Create a token' }).click()
    await line(page, 'Not saved; what you typed is kept. A token can create only tokens within its own part')
    await page.getByLabel('Only plants with these tags').fill('')
    await page.getByRole('button', { name: 'Create a token' }).click()
    const made = await secretOf(page, 'another bed')
    const own = await service.send('GET', '/tokens/self', as(made))
    assert.deepEqual((own.json as Token).part, ['greenhouse 1/'])
    await openMenu(page)
    await page.getByText('Plants tagged greenhouse 1/…').waitFor()
    await assertAtBothSizes(page)
    await copied(page, 'another bed')
  })

  inBrowser('end in the year 9999 at the latest, in UTC', { timezoneId: 'America/New_York' }, async ({ page }) => {
    await openView(page, 'Tokens')
    await page.getByLabel(FIELD).fill('for ever')
    await page.getByLabel('Last day').fill('9999-12-31')
    await page.getByRole('button', { name: 'Create a token' }).click()
    await page.getByText(/^Not saved; what you typed is kept\..*no later than 9999-12-31T23:59:59\.999Z/).waitFor()
    await page.getByLabel('Last day').fill('12345-01-01')
    await page.locator('#token-day:invalid').waitFor()
    await page.getByLabel('Last day').fill('9999-12-30')
    await page.getByRole('button', { name: 'Create a token' }).click()
    await page.getByText(/expires Dec 30, 9999/).waitFor()
  })

  onPhone('sign a phone in by a code, and can be copied with one key', async ({ page, context, address }) => {
    await openView(page, 'Tokens')
    const name = page.getByLabel(FIELD)
    await create(page, 'phone')
    const secret = await secretOf(page, 'phone')
    const code = page.getByRole('img', { name: 'Code that signs in as phone' })
    await page.getByText('A code that signs a phone in needs the address below.').waitFor()
    assert.equal(await code.count(), 0, 'a code with 127.0.0.1 leads a phone to itself')
    const base = page.getByLabel('Address of the service, for phones')
    await base.fill('phones')
    await page.getByText('must be an address such as').waitFor()
    await base.fill('http://192.168.1.20:8080/')
    await assertAccessible(page)
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      const [found] = await codesIn(await code.screenshot())
      assert.equal(found?.text, `http://192.168.1.20:8080/#token=${secret}`)
    }
    for (const [button, copied] of [
      ['Copy: phone', secret],
      ['Copy a sign-in link: phone', `http://192.168.1.20:8080/#token=${secret}`],
    ] as const) {
      await pressOn(page, page.getByRole('button', { name: button }))
      await page.getByText('Copied.').waitFor()
      await untilFocused(page, page.getByRole('button', { name: button }))
      await name.fill('')
      await name.press('Control+V')
      assert.equal(await name.inputValue(), copied)
    }
    await page.evaluate('document.execCommand = () => false')
    await pressOn(page, page.getByRole('button', { name: 'Copy: phone' }), 'Enter', 'Shift+Tab')
    await page.getByText('This browser does not allow copying. Select the secret and copy it yourself.').waitFor()
    const phone = await (context.browser() ?? assert.fail()).newContext({ viewport: PHONE })
    const onPhone = await phone.newPage()
    await onPhone.goto(`${address}#token=${secret}`)
    await onPhone.getByText('Signed in as phone').waitFor()
    await onPhone.getByRole('button', { name: 'Remember on this device' }).waitFor()
    await phone.close()
  })

  inBrowser('show their secrets until the person has kept them', async ({ page }) => {
    await openView(page, 'Tokens')
    for (const name of ['first', 'second']) {
      await create(page, name)
      await secretOf(page, name)
    }
    await page.getByRole('link', { name: 'Plants', exact: true }).click()
    await signOut(page)
    const dialog = page.getByRole('dialog', { name: 'Sign out all the same?' })
    await dialog.getByText('the secret of second, first').waitFor()
    await page.keyboard.press('Escape')
    await openView(page, 'Tokens')
    for (const name of ['first', 'second']) await copied(page, name)
    await signOut(page)
    await page.getByLabel('Access token').waitFor()
  })

  inBrowser('are kept as typed when the network is gone', { expected: NO_NETWORK }, async ({ page, context }) => {
    await page.clock.install()
    await openView(page, 'Tokens')
    await page.getByLabel(FIELD).fill('a season')
    await page.getByLabel('Read, search and export plants').uncheck()
    await page.getByLabel('Add, change, delete and import plants').check()
    await page.getByLabel('Last day').fill('2099-12-31')
    await context.setOffline(true)
    await page.getByRole('button', { name: 'Create a token' }).click()
    await withoutWaits(page, page.getByText('Not saved; what you typed is kept. The service cannot be reached.'))
    await context.setOffline(false)
    await page.getByRole('link', { name: 'Plants', exact: true }).click()
    await page.reload()
    await openView(page, 'Tokens')
    assert.equal(await page.getByLabel(FIELD).inputValue(), 'a season')
    assert.equal(await page.getByLabel('Read, search and export plants').isChecked(), false)
    assert.equal(await page.getByLabel('Last day').inputValue(), '2099-12-31')
    await page.getByRole('button', { name: 'Create a token' }).click()
    await page.getByLabel('The secret of a season').waitFor()
    await page.getByText(/may plants:write/).waitFor()
  })

  // The last test: the tokens stay.
  inBrowser('are all looked through, and shown a hundred at a time', async ({ page, service }) => {
    for (let i = 0; i < 120; i++) await store(service, { name: `of many ${i}` })
    const { token } = await store(service, { name: 'after many', expiresAt: new Date(Date.now() + 60_000) })
    await openView(page, 'Tokens')
    const others = page.getByRole('list', { name: 'All other tokens' }).getByRole('listitem')
    await page.getByRole('list', { name: 'Tokens to look at' }).getByText(token.id).waitFor()
    assert.equal(await others.count(), 100)
    await page.getByRole('button', { name: /^Show more/ }).click()
    await page.getByText('of many 119', { exact: true }).waitFor()
  })
})
