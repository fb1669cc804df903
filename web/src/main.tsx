import { render } from 'preact'
import { App } from './app.tsx'
import { keepFocus } from './focus.ts'
import { clearNotices } from './notices.tsx'
import { followAddress, writeAddress } from './route.ts'
import { followLink, onSignOut, resume, takeFromAddress } from './session.ts'

onSignOut(clearNotices)
addEventListener('hashchange', () => {
  // People may open a link with a token in a tab that shows the page already.
  const token = takeFromAddress()
  if (token !== undefined) void followLink(token)
  followAddress()
})
addEventListener('click', writeAddress, { capture: true })
keepFocus()
const token = takeFromAddress()
void (token === undefined ? resume() : followLink(token))
followAddress()
render(<App />, document.body)
