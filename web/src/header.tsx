import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { say } from './language/language.ts'
import { LanguageMenu } from './language/language-menu.tsx'
import { Button } from './page/controls.tsx'
import { closeOnEscape } from './page/focus.ts'
import { Icon } from './page/icon.tsx'
import { linkTo } from './page/route.ts'
import { SERVICE } from './page/service.ts'
import { isPageKept } from './page/version.ts'
import { nameOf } from './session/actor.ts'
import { RememberButton } from './session/by-link.tsx'
import { PartNote } from './session/part.tsx'
import { isVisitor, leaveVisit, remembersSession, type Session } from './session/session.ts'
import { SignOut } from './session/sign-out.tsx'
import type { View } from './views.tsx'

interface HeaderProps {
  readonly session: Session
  /** Those that the token opens. */
  readonly views: readonly View[]
  readonly shown: View | undefined
}

/**
 * The navigation and the menu of the person: a bar above a wide window, and below a narrow one, near the thumb, where
 * the menu has the views that find no place in the bar.
 */
export function Header({ session, views, shown }: HeaderProps): JSX.Element {
  const tabs = views.filter(({ under }) => under === undefined)
  const main = tabs.filter(({ icon }) => icon !== undefined)
  const others = main.length === 0 ? [] : tabs.filter(({ icon }) => icon === undefined)
  const tab = (view: View) => <Tab key={view.name} view={view} shown={shown} isOther={others.includes(view)} />
  return (
    <header>
      <p class="brand">
        <img src={`${SERVICE}/page/icon.svg`} alt="" /> <span>Plantstore</span>
      </p>
      <nav aria-label={say('page.views')}>{tabs.map(tab)}</nav>
      <Menu session={session}>{others.length > 0 && <nav aria-label={say('page.more')}>{others.map(tab)}</nav>}</Menu>
    </header>
  )
}

interface TabProps {
  readonly view: View
  readonly shown: View | undefined
  /** Whether a narrow window shows it in the menu. */
  readonly isOther: boolean
}

function Tab({ view: { name, title, tab = title, icon }, shown, isOther }: TabProps): JSX.Element {
  const current = name === shown?.name ? 'page' : name === shown?.under ? 'true' : undefined
  return (
    <a href={linkTo(name)} class={isOther ? 'other' : undefined} aria-current={current}>
      {icon !== undefined && <Icon name={icon} />} <span>{say(tab)}</span>
    </a>
  )
}

interface MenuProps {
  readonly session: Session
  readonly children: JSX.Element | false
}

/** Who is signed in, the language, and the way out. */
function Menu({ session, children }: MenuProps): JSX.Element {
  const place = useRef<HTMLDetailsElement>(null)
  useEffect(() => {
    const close = ({ target }: MouseEvent) => {
      const menu = place.current
      const isInside = target instanceof Element && menu?.contains(target) === true && target.closest('a') === null
      if (menu !== null && !isInside) menu.open = false
    }
    addEventListener('click', close)
    return () => removeEventListener('click', close)
  }, [])
  const isVisiting = isVisitor(session)
  const name = isVisiting ? say('signIn.not') : <bdi translate={false}>{nameOf(session.own)}</bdi>
  return (
    <details ref={place} class="account" onKeyDown={closeOnEscape}>
      <summary>
        <span class="who">
          <Icon name="person" /> {!isVisiting && <span class="hidden">{say('signIn.as')}</span>} {name}
        </span>
        <span class="more">
          <Icon name="more" /> <span>{say('page.more')}</span>
        </span>
      </summary>
      <div class="panel">
        {children}
        <p class="name">{name}</p>
        <PartNote of={session.own} />
        <RememberButton session={session} />
        {isPageKept.value && remembersSession() && <p class="note">{say('seen.ready')}</p>}
        <LanguageMenu />
        {isVisiting ? (
          <Button text={say('signIn.submit')} onClick={leaveVisit} />
        ) : (
          <SignOut title={say('signOut.submit')} />
        )}
      </div>
    </details>
  )
}
