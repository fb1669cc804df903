import type { JSX } from 'preact'
import type { OwnToken, PlantstoreClient } from '../../../client/src/index.ts'
import { say } from '../language/language.ts'
import type { PlainKey } from '../language/texts.ts'
import { Button, Check, Field, submitting } from '../page/controls.tsx'
import { typedSince, useRequest } from '../page/request.ts'
import { Fault } from '../page/sentence.tsx'
import type { Scope } from '../session/session.ts'
import { created, typed } from './new-token.ts'
import { Secrets } from './secrets.tsx'

const MEANINGS: Readonly<Record<Scope, PlainKey>> = {
  'plants:read': 'tokens.scopeRead',
  'plants:write': 'tokens.scopeWrite',
  tokens: 'tokens.scopeTokens',
  webhooks: 'tokens.scopeWebhooks',
}

interface FormProps {
  readonly client: PlantstoreClient
  readonly own: OwnToken
  readonly onMade: () => void
}

/** Creates a token with at most the scopes of the token that is signed in. */
export function NewTokenForm({ client, own, onMade }: FormProps): JSX.Element {
  // A tab that was open before tokens had parts has kept none.
  const { name, scopes: chosen, part = '', day } = typed.value
  const scopes = own.scopes.filter((scope) => (chosen === null ? scope === 'plants:read' : chosen.includes(scope)))
  const { isBusy, fault, once } = useRequest((why) => say('page.notSaved', { why }))
  const make = () =>
    once(async () => {
      // The end of the day in the time zone of the browser.
      const expiresAt = day === '' ? undefined : new Date(`${day}T23:59:59.999`).toISOString()
      const texts = part.split('\n').filter((text) => text.trim() !== '')
      const token = await client.createToken({
        name,
        scopes,
        ...(texts.length === 0 ? {} : { part: texts }),
        ...(expiresAt === undefined ? {} : { expiresAt }),
      })
      created.value = [token, ...created.value]
      typed.value = { ...typed.value, name: typedSince(name, typed.value.name) }
      onMade()
    })
  return (
    <>
      <form class="new-token" aria-label={say('tokens.new')} onSubmit={submitting(() => void make())}>
        <Field
          id="token-name"
          label={say('tokens.purpose')}
          required
          value={name}
          onText={(text) => (typed.value = { ...typed.value, name: text })}
        />
        <Scopes own={own.scopes} chosen={scopes} />
        <Field
          id="token-part"
          label={say('tokens.part')}
          note={say('tokens.partHint')}
          rows={2}
          value={part}
          onText={(text) => (typed.value = { ...typed.value, part: text })}
        />
        <Field
          id="token-day"
          label={say('tokens.lastDay')}
          type="date"
          max="9999-12-31"
          value={day}
          onText={(text) => (typed.value = { ...typed.value, day: text })}
        />
        <Button
          text={say('tokens.create')}
          type="submit"
          class="primary"
          disabled={scopes.length === 0}
          isBusy={isBusy.value}
        />
        <Fault text={fault.value} />
      </form>
      <Secrets />
    </>
  )
}

interface ScopesProps {
  readonly own: readonly Scope[]
  readonly chosen: readonly Scope[]
}

function Scopes({ own, chosen }: ScopesProps): JSX.Element {
  return (
    <fieldset>
      <legend>{say('tokens.may')}</legend>
      {own.map((scope) => (
        <Check
          key={scope}
          isOn={chosen.includes(scope)}
          onChange={(isOn) => {
            const others = chosen.filter((each) => each !== scope)
            typed.value = { ...typed.value, scopes: isOn ? [...others, scope] : others }
          }}
        >
          {say(MEANINGS[scope])}
        </Check>
      ))}
    </fieldset>
  )
}
