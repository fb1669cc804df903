import type { Page } from 'playwright-core'

/** What the keys of a keyboard type, in the order of CODES. */
interface Keyboard {
  readonly plain: string
  readonly shifted: string
  /** Keys that type nothing until the next one. */
  readonly dead?: string
  /** Whether caps lock works as a shift lock. Otherwise it changes letters only. */
  readonly hasShiftLock?: boolean
}

const row = (start: string, letters: string) => Array.from(letters, (letter) => `${start}${letter}`)
const CODES = [
  ...['Backquote', ...row('Digit', '1234567890'), 'Minus', 'Equal'],
  ...[...row('Key', 'QWERTYUIOP'), 'BracketLeft', 'BracketRight', 'Backslash'],
  ...[...row('Key', 'ASDFGHJKL'), 'Semicolon', 'Quote'],
  ...[...row('Key', 'ZXCVBNM'), 'Comma', 'Period', 'Slash'],
]

/** The keyboard that hand scanners press the keys of. */
export const US: Keyboard = {
  plain: "`1234567890-=qwertyuiop[]\\asdfghjkl;'zxcvbnm,./",
  shifted: '~!@#$%^&*()_+QWERTYUIOP{}|ASDFGHJKL:"ZXCVBNM<>?',
}

export const KEYBOARDS: Readonly<Record<string, Keyboard>> = {
  German: {
    plain: '^1234567890ß´qwertzuiopü+#asdfghjklöäyxcvbnm,.-',
    shifted: '°!"§$%&/()=?`QWERTZUIOPÜ*\'ASDFGHJKLÖÄYXCVBNM;:_',
    dead: '^´`',
    hasShiftLock: true,
  },
  British: {
    plain: "`1234567890-=qwertyuiop[]#asdfghjkl;'zxcvbnm,./",
    shifted: '¬!"£$%^&*()_+QWERTYUIOP{}~ASDFGHJKL:@ZXCVBNM<>?',
  },
  French: {
    plain: '²&é"\'(-è_çà)=azertyuiop^$*qsdfghjklmùwxcvbn,;:!',
    shifted: '~1234567890°+AZERTYUIOP¨£µQSDFGHJKLM%WXCVBN?./§',
    dead: '^¨',
    hasShiftLock: true,
  },
  'French of a Mac': {
    plain: '@&é"\'(§è!çà)-azertyuiop^$`qsdfghjklmùwxcvbn,;:=',
    shifted: '#1234567890°_AZERTYUIOP¨*£QSDFGHJKLM%WXCVBN?./+',
    dead: '^¨',
  },
  Belgian: {
    plain: '²&é"\'(§è!çà)-azertyuiop^$µqsdfghjklmùwxcvbn,;:=',
    shifted: '³1234567890°_AZERTYUIOP¨*£QSDFGHJKLM%WXCVBN?./+',
    dead: '^¨',
    hasShiftLock: true,
  },
  Spanish: {
    plain: "º1234567890'¡qwertyuiop`+çasdfghjklñ´zxcvbnm,.-",
    shifted: 'ª!"·$%&/()=?¿QWERTYUIOP^*ÇASDFGHJKLÑ¨ZXCVBNM;:_',
    dead: '`´^¨',
  },
  Italian: {
    plain: "\\1234567890'ìqwertyuiopè+ùasdfghjklòàzxcvbnm,.-",
    shifted: '|!"£$%&/()=?^QWERTYUIOPé*§ASDFGHJKLç°ZXCVBNM;:_',
  },
  'Swiss German': {
    plain: "§1234567890'^qwertzuiopü¨$asdfghjklöäyxcvbnm,.-",
    shifted: '°+"*ç%&/()=?`QWERTZUIOPè!£ASDFGHJKLéàYXCVBNM;:_',
    dead: '^¨`',
  },
  Swedish: {
    plain: "§1234567890+´qwertyuiopå¨'asdfghjklöäzxcvbnm,.-",
    shifted: '½!"#¤%&/()=?`QWERTYUIOPÅ^*ASDFGHJKLÖÄZXCVBNM;:_',
    dead: '´`¨^',
  },
  Portuguese: {
    plain: "\\1234567890'«qwertyuiop+´~asdfghjklçºzxcvbnm,.-",
    shifted: '|!"#$%&/()=?»QWERTYUIOP*`^ASDFGHJKLÇªZXCVBNM;:_',
    dead: '´`~^',
  },
}

/** How caps lock stands: off, as these layouts have it on a Mac and on Linux, or as they have it on Windows. */
export type CapsLock = 'off' | 'letters' | 'own'

interface Key {
  readonly code: string
  readonly isShifted: boolean
  readonly typed: string
}

/** The keys that a scanner presses for a text, and what the computer reads. */
function keysFor(text: string, keyboard: Keyboard, caps: CapsLock): readonly Key[] {
  const { plain, shifted, hasShiftLock = false } = keyboard
  const isLocked = caps === 'own' && hasShiftLock
  return Array.from(text, (character) => {
    const isShifted = !US.plain.includes(character)
    const at = (isShifted ? US.shifted : US.plain).indexOf(character)
    const typed = (isShifted === isLocked ? plain : shifted)[at] ?? ''
    return { code: CODES[at] ?? '', isShifted, typed: caps === 'off' || isLocked ? typed : otherCase(typed) }
  })
}

const otherCase = (letter: string): string => {
  const upper = letter.toUpperCase()
  return upper.length > 1 ? letter : letter === upper ? letter.toLowerCase() : upper
}

/** What a computer with this keyboard reads when a scanner types a text. */
export const asTyped = (text: string, keyboard: Keyboard, caps: CapsLock = 'off'): string =>
  keysFor(text, keyboard, caps)
    .map(({ typed }) => typed)
    .join('')

/** Presses the keys that a scanner presses for a text, and Enter, on a computer with this keyboard. */
export async function pressAsScanner(page: Page, text: string, keyboard: Keyboard): Promise<void> {
  const session = await page.context().newCDPSession(page)
  let held = ''
  for (const { code, isShifted, typed } of keysFor(text, keyboard, 'off')) {
    const isDead = keyboard.dead?.includes(typed) === true && held === ''
    const key = { code, key: isDead ? 'Dead' : typed, modifiers: isShifted ? 8 : 0 }
    await session.send('Input.dispatchKeyEvent', {
      ...key,
      ...(isDead ? { type: 'rawKeyDown' } : { type: 'keyDown', text: `${held}${typed}` }),
    })
    held = isDead ? typed : ''
    await session.send('Input.dispatchKeyEvent', { ...key, type: 'keyUp' })
  }
  await session.detach()
  await page.keyboard.press('Enter')
}
