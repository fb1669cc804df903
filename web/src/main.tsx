import { render } from 'preact'
import { App } from './app.tsx'
import { followNetwork } from './connection.ts'
import { keepFocus } from './focus.ts'
import { startLanguage } from './language/choose-language.ts'
import { clearNotices } from './notices.tsx'
import { takeAnswer } from './provider.ts'
import { followAddress, writeAddress } from './route.ts'
import { followLink, onSignOut, resume, signInWith, takeFromAddress } from './session.ts'
import { surviveTranslation } from './translation.ts'

onSignOut(clearNotices)
addEventListener('hashchange', () => {
  // People may open a link with a token in a tab that shows the page already.
  arrive(() => {})
})
addEventListener('click', writeAddress, { capture: true })
keepFocus()
followNetwork()
surviveTranslation()
arrive(() => void resume())
// Without the texts of its language, the page is in English.
void startLanguage()
  .catch(() => {})
  .then(() => {
    document.getElementById('not-loaded')?.remove()
    render(<App />, document.body)
  })

/** Takes from the address what signs the person in. @param otherwise called where it has nothing of the kind */
function arrive(otherwise: () => void): void {
  const answer = takeAnswer()
  const token = takeFromAddress()
  if (answer !== undefined) void signInWith(answer)
  else if (token !== undefined) void followLink(token)
  else otherwise()
  followAddress()
}
