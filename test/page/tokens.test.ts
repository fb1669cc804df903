import assert from 'node:assert/strict'
import { suite } from 'node:test'
import { assertAccessible, assertFits, DESKTOP, PHONE, pageTests } from '../support/page.ts'
import { untilRefused } from '../support/tokens.ts'

suite('tokens on the page', () => {
  const inBrowser = pageTests()

  for (const viewport of [DESKTOP, PHONE]) {
    inBrowser(
      `can be created, listed and revoked by keyboard alone, at ${viewport.width} pixels`,
      async ({ page, service }) => {
        await page.getByRole('link', { name: 'Tokens' }).focus()
        await page.keyboard.press('Enter')
        const name = `label printer ${viewport.width}`
        await page.getByLabel('What is the token for?').focus()
        await page.keyboard.type(name)
        await page.keyboard.press('Tab')
        await page.keyboard.press('Tab')
        await page.keyboard.press('Space')
        await page.keyboard.press('Enter')
        const field = page.getByLabel(`The secret of ${name}`)
        await field.waitFor()
        const secret = await field.inputValue()
        const authorization = `Bearer ${secret}`
        const own = await service.send('GET', '/tokens/self', { authorization })
        assert.deepEqual((own.json as { scopes: string[] }).scopes.toSorted(), ['plants:read', 'plants:write'])
        await page.getByText(name, { exact: true }).first().waitFor()
        await assertAccessible(page)
        await assertFits(page)
        await page.getByRole('button', { name: new RegExp(`^Revoke ${name}`) }).focus()
        await page.keyboard.press('Enter')
        const dialog = page.getByRole('dialog', { name: `Revoke ${name}?` })
        await dialog.waitFor()
        await page.keyboard.press('Escape')
        assert.equal((await service.send('GET', '/tokens/self', { authorization })).status, 200)
        await page.getByRole('button', { name: new RegExp(`^Revoke ${name}`) }).focus()
        await page.keyboard.press('Enter')
        await dialog.getByRole('button', { name: 'Revoke it' }).focus()
        await page.keyboard.press('Enter')
        await page.getByText(`Revoked ${name}`).waitFor()
        await untilRefused(service, secret)
        await page.reload()
        await page
          .getByText(/revoked \w+ \d/)
          .first()
          .waitFor()
        assert.equal(await page.getByText(secret).count(), 0)
      },
      { viewport },
    )
  }

  inBrowser(
    'have an expiry, and at most the scopes of the token that creates them',
    async ({ page, service, address }) => {
      const { secret } = await service.issueToken(['tokens'])
      await page.goto(`${address}#token=${secret}`)
      await page.getByLabel('What is the token for?').fill('for a season')
      assert.equal(await page.getByRole('group', { name: 'The token may' }).getByRole('checkbox').count(), 1)
      await page.getByLabel('Create, list and revoke tokens').check()
      await page.getByLabel('Last day').fill('2099-12-31')
      await page.getByRole('button', { name: 'Create a token' }).click()
      await page.getByText(/expires Dec 31, 2099/).waitFor()
      await page.getByLabel('What is the token for?').fill('too late')
      await page.getByLabel('Last day').fill('2001-01-01')
      await page.getByRole('button', { name: 'Create a token' }).click()
      await page.getByText(/^Not created\./).waitFor()
      assert.equal(await page.getByLabel('What is the token for?').inputValue(), 'too late')
    },
  )
})
