import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { encodingOf, textsOf } from '../../../src/import/sheet/encoding.ts'
import type { Encoding } from '../../../src/import/sheet/guess-encoding.ts'

/** Lines of sheets, by the encoding in which old programs save them. */
const TEXTS: Partial<Record<Encoding, readonly string[]>> = {
  'windows-1252': [
    'Name;Ort\nHäberlea;Müllers Gärtnerei\nÖlweide;Süd\n',
    'nom;lieu\nchêne pédonculé;forêt\nÉrable à sucre;près de l’étang\n',
    'name,place\nCafé tree,Señor’s garden\nMagnolia × soulangeana,3½ m\n',
    'navn;sted\nÆble;hæk\nBøg;skov\nÅkande;sø\n',
    'nome;local\nAçaí;São Paulo\nIpê-amarelo;chão\n',
    'name\nMagnolia × loebneri\nSalvia × sylvestris\n',
    'naam;prijs\nRoos;€ 4,50\nTulp;€ 2\n',
    `name\n${'Abies alba\n'.repeat(30_000)}Häberlea\n`,
  ],
  macintosh: [
    'Name;Ort\nHäberlea;Müllers Gärtnerei\nÖlweide;Süd\nWeiße Rose;Größe\n',
    'nom;lieu\nchêne pédonculé;forêt\népicéa;allée\n',
    'nombre\rencina española\r',
  ],
  'windows-1250': [
    'název;místo\nrůže šípková;žlutý záhon\nčerný bez;u řeky\n',
    'naziv;mjesto\nhrast lužnjak;šuma\ncrni grab;žuti vrt\nsmreča;brežuljak\n',
    'nazwa\nżółta róża\nświerk\ngrab pospolity, część wschodnia\n',
  ],
  'windows-1254': ['ad;yer\nçınar;bahçe\nşimşir;göl\nkayısı;İstanbul\n'],
  'windows-1251': [
    'название;место\nРоза;Аллея\nБЕРЁЗА ПОВИСЛАЯ;САД\n',
    'назва;місце\nДуб звичайний;Київ\nЯлина;ґрунт\n',
    'Latin,Russian\nAbies alba,пихта\nAcer,клён\n',
  ],
  'windows-1253': ['όνομα;θέση\nΡόδο;κήπος\nΔάφνη;Αθήνα\nάγρια μέντα;είσοδος\n'],
  shift_jis: ['名前,場所\n桜,東京\n梅,京都\n', '学名,和名\nRosa,バラ\nPinus,クロマツ（黒松）\n'],
  gb18030: ['名称,位置\n牡丹,北京植物园\n月季,温室\n竹子,三号花坛\n', '学名,中文名\nGinkgo biloba,银杏\nRosa,玫瑰\n'],
  'euc-kr': ['이름,장소\n소나무,서울\n벚나무,부산 식물원\n'],
  'utf-8': ['Name\nHäberlea\n', 'Name\rHäberlea\r'],
}

/** Writes a text in an encoding, which the platform only reads: it finds each character's bytes by reading all of them. */
function written(text: string, encoding: Encoding): Uint8Array<ArrayBuffer> {
  if (encoding === 'utf-8') return new TextEncoder().encode(text)
  const decoder = new TextDecoder(encoding)
  const bytes = new Map<string, readonly number[]>()
  for (let first = 0xff; first >= 0; first--) {
    for (let second = 0xff; second >= 0x40 && first >= 0x80; second--) {
      const two = decoder.decode(Uint8Array.of(first, second))
      if (two.length === 1) bytes.set(two, [first, second])
    }
  }
  for (let byte = 0xff; byte >= 0; byte--) bytes.set(decoder.decode(Uint8Array.of(byte)), [byte])
  return Uint8Array.from(Array.from(text).flatMap((character) => [...(bytes.get(character) ?? [])]))
}

suite('the page finds the encoding of a sheet', () => {
  for (const [encoding, texts] of Object.entries(TEXTS) as [Encoding, readonly string[]][]) {
    test(`in ${encoding}`, async () => {
      for (const text of texts) {
        const bytes = written(text, encoding)
        assert.equal(new TextDecoder(encoding).decode(bytes), text)
        assert.equal(await encodingOf(new Blob([bytes])), encoding, text.slice(0, 80))
      }
    })
  }

  test('in time proportional to its size, whatever it has', async () => {
    for (const part of ['a', '\xe4', '(', ' ', 'aB', '\xe4\xd6', '\x92', '\x81']) {
      const bytes = Buffer.from(`${part.repeat(2 ** 20)}\xff`, 'latin1')
      const began = performance.now()
      await encodingOf(new Blob([bytes]))
      assert.ok(performance.now() - began < 30_000, JSON.stringify(part))
    }
  })
})

test('a line end that two pieces of a file share is one line end', async () => {
  // A Blob comes in the pieces that it is made of.
  const pieces = ['name\r\n', 'Aloe\r', '\nRosa\r\n']
  assert.deepEqual(await Array.fromAsync(textsOf(new Blob(pieces), 'utf-8')), pieces)
})
