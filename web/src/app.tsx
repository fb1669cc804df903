import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { Header } from './header.tsx'
import { ImportProgress } from './import/import-progress.tsx'
import { language, say } from './language/language.ts'
import { LanguageMenu } from './language/language-menu.tsx'
import { WaitingLine } from './offline/waiting-line.tsx'
import { connection, isHeldUp, lookNow, useRepeat } from './page/connection.ts'
import { Button } from './page/controls.tsx'
import { Notices } from './page/notices.tsx'
import { linkTo, route } from './page/route.ts'
import { Sentence } from './page/sentence.tsx'
import { UndoQuestion } from './plants/many/undo-dialog.tsx'
import { LinkDialog, RememberQuestion } from './session/by-link.tsx'
import { isVisitor, leaveVisit, type Session, type SessionState, session } from './session/session.ts'
import { SignIn } from './session/sign-in.tsx'
import { SignOut } from './session/sign-out.tsx'
import { VIEWS, type View, viewsFor } from './views.tsx'

export function App(): JSX.Element {
  const state = session.value
  switch (state.kind) {
    case 'checking':
      return (
        <main class="sign-in" aria-busy="true">
          <h1>Plantstore</h1>
          <p role="status">{say(connection.value === 'retrying' ? 'page.retrying' : 'signIn.checking')}</p>
        </main>
      )
    case 'signed-out':
      return (
        <>
          <WaitingLine />
          <SignIn why={state.why} />
        </>
      )
    case 'unreachable':
      return <Unreachable {...state} />
    case 'signed-in':
      return <SignedIn {...state} />
  }
}

function Unreachable({ why, again }: Extract<SessionState, { readonly kind: 'unreachable' }>): JSX.Element {
  useRepeat(again)
  return (
    <main class="sign-in">
      <h1>Plantstore</h1>
      <p role="alert">
        <Sentence text={why} />
      </p>
      <Button text={say('page.tryAgain')} class="primary" onClick={again} />
      <SignOut title={say('signIn.anotherToken')} />
      <LanguageMenu />
    </main>
  )
}

function SignedIn(current: Session): JSX.Element {
  const views = viewsFor(current)
  const state = connection.value
  const { view } = route.value
  const shown = view === '' ? views[0] : views.find(({ name }) => name === view)
  useEffect(() => {
    document.title = `${say(shown?.title ?? 'page.nothing')} – Plantstore`
    return () => {
      document.title = 'Plantstore'
    }
  }, [shown, language.value])
  return (
    <>
      <Button text={say('page.skip')} class="skip" onClick={() => document.getElementById('main')?.focus()} />
      <Header session={current} views={views} shown={shown} />
      <div class="lines">
        <div class="connection">
          <p role="status">
            {state !== 'good' && isHeldUp.value && say('fault.otherSignIn')}
            {(state === 'retrying' || state === 'looking') && !isHeldUp.value && say('page.retrying')}
            {state === 'lost' && !isHeldUp.value && say('page.lost')}
          </p>
          {(state === 'lost' || state === 'looking') && <Button text={say('page.tryNow')} onClick={lookNow} />}
        </div>
        <WaitingLine />
      </div>
      {shown?.name !== 'import' && <ImportProgress />}
      <main id="main" tabIndex={-1}>
        {shown === undefined ? (
          <NoView view={view} first={views[0]} isVisiting={isVisitor(current)} />
        ) : (
          <shown.Component key={shown.name} session={current} />
        )}
      </main>
      <Notices>
        <RememberQuestion session={current} />
      </Notices>
      <UndoQuestion session={current} />
      <LinkDialog {...current} />
    </>
  )
}

interface NoViewProps {
  readonly view: string
  readonly first: View | undefined
  readonly isVisiting: boolean
}

/** Says why the page shows no view. */
function NoView({ view, first, isVisiting }: NoViewProps): JSX.Element {
  const isKnown = VIEWS.some(({ name }) => name === view)
  const closed = isVisiting ? 'page.signInView' : 'page.closedView'
  const why = first === undefined ? 'page.noView' : isKnown ? closed : 'page.unknownView'
  return (
    <>
      <h1>{say('page.nothing')}</h1>
      <p>{say(why)}</p>
      {why === 'page.signInView' && (
        <p>
          <Button text={say('signIn.submit')} class="primary" onClick={leaveVisit} />
        </p>
      )}
      {first !== undefined && (
        <p>
          <a class="button" href={linkTo(first.name)}>
            {say('page.goTo', { view: say(first.title) })}
          </a>
        </p>
      )}
    </>
  )
}
