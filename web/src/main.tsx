import { render } from 'preact'
import { App } from './app.tsx'
import { dropCells } from './import/remembered.ts'
import { startLanguage } from './language/choose-language.ts'
import { followWaiting } from './offline/send.ts'
import { followNetwork } from './page/connection.ts'
import { keepFocus } from './page/focus.ts'
import { clearNotices } from './page/notices.tsx'
import { followAddress, writeAddress } from './page/route.ts'
import { SERVICE } from './page/service.ts'
import { surviveTranslation } from './page/translation.ts'
import { followVersion } from './page/version.ts'
import { takeAnswer } from './session/provider.ts'
import { followLink, followOwn, onSignOut, probe, resume, signInWith, takeFromAddress } from './session/session.ts'

// What a service worker keeps is below `/garden/`, and `/garden` is not.
if (location.pathname.endsWith('/')) start()
else location.replace(`${SERVICE}/${location.search}${location.hash}`)

function start(): void {
  onSignOut(clearNotices)
  addEventListener('hashchange', () => {
    // People may open a link with a token in a tab that shows the page already.
    arrive(() => {})
  })
  addEventListener('click', writeAddress, { capture: true })
  dropCells()
  keepFocus()
  followNetwork(probe)
  followOwn()
  followWaiting()
  followVersion()
  surviveTranslation()
  arrive(() => void resume())
  // Without the texts of its language, the page is in English.
  void startLanguage()
    .catch(() => {})
    .then(() => {
      document.getElementById('not-loaded')?.remove()
      render(<App />, document.body)
    })
}

/** Takes from the address what signs the person in. @param otherwise called where it has nothing of the kind */
function arrive(otherwise: () => void): void {
  const answer = takeAnswer()
  const token = takeFromAddress()
  if (answer !== undefined) void signInWith(answer)
  else if (token !== undefined) void followLink(token)
  else otherwise()
  followAddress()
}
