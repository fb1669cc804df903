import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { type Sent, Shown } from './operation.tsx'
import { curlOf, type Request, send } from './request.ts'

/** A request to begin with: it changes nothing, and needs nothing but a token. */
export function FirstRequest({ token }: { readonly token: string }): JSX.Element {
  const [sent, setSent] = useState<Sent>()
  const headers = [['Authorization', `Bearer ${token}`]] as const
  const request: Request = { method: 'GET', target: '/plants?limit=5', headers, body: undefined }
  const ask = async () => {
    const answer = await send(request).catch((error: Error) => `No answer: ${error.message}`)
    setSent((last) => ({ number: (last?.number ?? 0) + 1, request, answer }))
  }
  return (
    <section class="first" aria-labelledby="first-title">
      <h2 id="first-title">A first request</h2>
      <p>The first five plants. It needs the access token above, and changes nothing.</p>
      <pre class="sent" translate={false} tabIndex={0} role="region" aria-label="First command">
        {curlOf(request)}
      </pre>
      <button type="button" class="primary" onClick={() => void ask()}>
        Try it
      </button>
      <div class="answer" role="status" aria-label="First answer">
        {sent !== undefined && <Shown key={sent.number} {...sent} hasCommand={false} />}
      </div>
      <p class="note">
        Then <a href="#createPlant">create a plant</a>. Each operation below has a form that sends it.
      </p>
    </section>
  )
}
