import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { LinkDialog, RememberLine } from './by-link.tsx'
import { ImportProgress } from './import/import-progress.tsx'
import { Notices } from './notices.tsx'
import { linkTo, route } from './route.ts'
import { isRetrying, type Session, session } from './session.ts'
import { SignIn } from './sign-in.tsx'
import { SignOut } from './sign-out.tsx'
import { viewsFor } from './views.ts'

export function App(): JSX.Element {
  const state = session.value
  switch (state.kind) {
    case 'checking':
      return (
        <main class="sign-in" aria-busy="true">
          <h1>Plantstore</h1>
          <p role="status">{isRetrying.value ? 'The service does not answer; trying again …' : 'Signing in …'}</p>
        </main>
      )
    case 'signed-out':
      return <SignIn why={state.why} />
    case 'unreachable':
      return (
        <main class="sign-in">
          <h1>Plantstore</h1>
          <p role="alert">{state.why}</p>
          <button type="button" class="primary" onClick={state.again}>
            Try again
          </button>
          <SignOut title="Use another token" />
        </main>
      )
    case 'signed-in':
      return <SignedIn {...state} />
  }
}

function SignedIn(current: Session): JSX.Element {
  const views = viewsFor(current)
  const shown = views.find(({ name }) => name === route.value.view) ?? views[0]
  useEffect(() => {
    document.title = `${shown?.title ?? 'Nothing'} – Plantstore`
    return () => {
      document.title = 'Plantstore'
    }
  }, [shown])
  return (
    <>
      <button type="button" class="skip" onClick={() => document.getElementById('main')?.focus()}>
        Skip to the contents
      </button>
      <header>
        <p class="brand">Plantstore</p>
        <nav aria-label="Pages">
          {views
            .filter(({ isLinked }) => isLinked !== true)
            .map(({ name, title }) => (
              <a key={name} href={linkTo(name)} aria-current={name === shown?.name ? 'page' : undefined}>
                {title}
              </a>
            ))}
        </nav>
        <p class="who">
          <span>
            Signed in as <bdi>{current.own.name}</bdi>
          </span>
          <SignOut title="Sign out" isQuiet />
        </p>
      </header>
      <p class="connection" role="status">
        {isRetrying.value && 'The service does not answer; trying again …'}
      </p>
      <RememberLine session={current} />
      {shown?.name !== 'import' && <ImportProgress />}
      <main id="main" tabIndex={-1}>
        {shown === undefined ? (
          <p>No view of this page is open to the scopes of this token.</p>
        ) : (
          <shown.Component key={shown.name} session={current} />
        )}
      </main>
      <Notices />
      <LinkDialog {...current} />
    </>
  )
}
