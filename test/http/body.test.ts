import assert from 'node:assert/strict'
import { suite } from 'node:test'
import { MIN_ID } from '../../src/domain/plant.ts'
import { BODY_LIMIT } from '../../src/http/request/exchange.ts'
import { assertConforms } from '../support/conforms.ts'
import { RawConnection, raw } from '../support/raw.ts'
import { PLANT, post } from '../support/requests.ts'
import { assertRefused, errorOf, messageOf } from '../support/service.ts'
import { onEmpty } from '../support/service-tests.ts'
import { words } from '../support/words.ts'

suite('the size of a body', () => {
  const sized = (bytes: number) => PLANT.padEnd(bytes, ' ')

  onEmpty('is at most 16 KiB, with Content-Length and with chunks', async (service) => {
    for (const chunked of [false, true]) {
      assert.equal((await service.create(sized(BODY_LIMIT), { chunked })).status, 200)
      const answer = await service.create(sized(BODY_LIMIT + 1), { chunked })
      assertRefused(answer, 41301, 'the body is larger than 16384 bytes')
      assert.equal(answer.headers.connection, 'close')
    }
  })

  onEmpty('suffices for the largest plant, with each of its characters as two escapes', async (service) => {
    const text = (characters: number) => '\\ud83c\\udf35'.repeat(characters)
    assert.equal((await service.create(`{"id":${MIN_ID},"name":"${text(1000)}","tag":"${text(200)}"}`)).status, 200)
    const [stored] = await service.plants()
    assert.deepEqual(stored, { id: MIN_ID, name: '\u{1f335}'.repeat(1000), tag: '\u{1f335}'.repeat(200) })
  })

  onEmpty('is refused before the body arrives if Content-Length exceeds the limit', async (service) => {
    const [answer] = await raw(service.port, post('', `Content-Length: ${10 ** 12}`))
    assert.equal(answer?.status, 413)
    assertConforms('createPlant', answer)
  })

  onEmpty('is refused while an endless chunked body still arrives', async (service, t) => {
    const connection = new RawConnection(service.port, post('', 'Transfer-Encoding: chunked'))
    const chunk = `400\r\n${' '.repeat(0x400)}\r\n`
    const pump = setInterval(() => connection.write(chunk), 1)
    t.after(() => clearInterval(pump))
    await connection.until('41301')
    clearInterval(pump)
    connection.socket.destroy()
    assert.equal((await service.create(PLANT)).status, 200)
  })
})

suite('the media type or coding of a body', () => {
  const CHARSETS = ['utf-16', 'iso-8859-1', 'utf-8; charset=latin1', 'utf-8; Charset=utf-8'].map(
    (text) => `charset=${text}`,
  )
  const PARAMETERS = [...CHARSETS, 'Charset="latin1"', 'charset', 'charset =utf-8', 'x="a', 'x="a"b']
  const TYPES = [
    ...['', 'application/json, text/plain', 'text/plain; a=application/json', 'application/json application/json'],
    ...words`text/plain application/x-www-form-urlencoded application/jsonx application/json-patch+json application`,
    ...['application/merge-patch+json', 'application/json, application/json'],
    ...PARAMETERS.map((parameter) => `application/json; ${parameter}`),
  ]
  const REFUSED: readonly Readonly<Record<string, string>>[] = [
    ...TYPES.map((type) => ({ 'Content-Type': type })),
    ...['gzip', 'br', 'identity, gzip'].map((coding) => ({ 'Content-Encoding': coding })),
  ]

  onEmpty('is 41501 if it is unsupported, and Accept-Post names the supported ones', async (service) => {
    for (const headers of REFUSED) {
      const answer = await service.create(PLANT, { headers })
      assert.equal(errorOf(answer), 41501, JSON.stringify(headers))
      assert.equal(answer.headers['accept-post'], 'application/json')
      assert.match(messageOf(answer), /application\/json/)
    }
    const absent = await service.send('POST', '/plants', { body: PLANT })
    assert.equal(errorOf(absent), 41501, 'no Content-Type at all')
    assert.deepEqual(await service.plants(), [])
  })

  onEmpty('may have every equivalent spelling', async (service) => {
    const more = ['', '; charset=utf-8', ';charset="UTF-8"', ';', '; ;', ' ; x=y']
    const quoted = ['; x="a;charset=latin1"; charset=utf-8', '; x="\\";"', '\t;\tcharset="\\utf-8"']
    for (const type of ['Application/JSON', ...[...more, ...quoted].map((end) => `application/json${end}`)]) {
      assert.equal((await service.create(PLANT, { headers: { 'Content-Type': type } })).status, 200, type)
    }
    assert.equal((await service.create(PLANT, { headers: { 'Content-Encoding': 'Identity' } })).status, 200)
  })
})
suite('members of a body whose names are special in JavaScript', () => {
  onEmpty('are ignored like any other unknown member', async (service) => {
    const evil = '{"name":"evil","tag":"evil","isAdmin":true}'
    const members = `"__proto__":${evil},"constructor":{"prototype":${evil}},"prototype":${evil},"toString":1,"hasOwnProperty":0`
    const answer = await service.create(`{"id":1,"name":"x",${members}}`)
    assert.deepEqual([answer.status, answer.body], [200, '{"name":"x"}'])
    const inherited = await service.create(`{"id":2,"__proto__":${evil},"\\u005f_proto__x":1}`)
    assert.equal(messageOf(inherited), 'name is required')
    assert.equal(Object.hasOwn(Object.prototype, 'isAdmin'), false)
    assert.deepEqual(await service.plants(), [{ id: 1n, name: 'x', tag: null }])
  })
})
