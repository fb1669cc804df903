import { render } from 'preact'
import { App } from './app.tsx'
import { keepFocus } from './focus.ts'
import { clearNotices } from './notices.tsx'
import { followAddress, writeAddress } from './route.ts'
import { onSignOut, resume, takeFromAddress } from './session.ts'

onSignOut(clearNotices)
addEventListener('hashchange', () => {
  // People may open the link of the first start in a tab that shows the page already.
  if (takeFromAddress()) void resume()
  followAddress()
})
addEventListener('click', writeAddress, { capture: true })
keepFocus()
void resume()
followAddress()
render(<App />, document.body)
