import type { JSX } from 'preact'
import type { OwnToken, PlantstoreClient } from '../../../client/src/index.ts'
import { say } from '../language/language.ts'
import type { PlainKey } from '../language/texts.ts'
import { Button } from '../page/controls.tsx'
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
  const { isBusy, fault, once } = useRequest((why) => say('tokens.notCreated', { why }))
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
      <form
        class="new-token"
        aria-label={say('tokens.new')}
        onSubmit={(event) => {
          event.preventDefault()
          void make()
        }}
      >
        <div class="field">
          <label for="token-name">{say('tokens.purpose')}</label>
          <input
            id="token-name"
            required
            dir="auto"
            autocomplete="off"
            value={name}
            onInput={(event) => (typed.value = { ...typed.value, name: event.currentTarget.value })}
          />
        </div>
        <Scopes own={own.scopes} chosen={scopes} />
        <PartField part={part} />
        <div class="field">
          <label for="token-day">{say('tokens.lastDay')}</label>
          <input
            id="token-day"
            type="date"
            max="9999-12-31"
            value={day}
            onInput={(event) => (typed.value = { ...typed.value, day: event.currentTarget.value })}
          />
        </div>
        <Button
          text={say(isBusy.value ? 'tokens.creating' : 'tokens.create')}
          type="submit"
          class="primary"
          disabled={scopes.length === 0}
          aria-disabled={isBusy.value}
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
        <label key={scope} class="check">
          <input
            type="checkbox"
            checked={chosen.includes(scope)}
            onChange={(event) => {
              const others = chosen.filter((each) => each !== scope)
              typed.value = { ...typed.value, scopes: event.currentTarget.checked ? [...others, scope] : others }
            }}
          />
          {say(MEANINGS[scope])}
        </label>
      ))}
    </fieldset>
  )
}

function PartField({ part }: { readonly part: string }): JSX.Element {
  return (
    <div class="field">
      <label for="token-part">{say('tokens.part')}</label>
      <textarea
        id="token-part"
        rows={2}
        dir="auto"
        aria-describedby="token-part-hint"
        value={part}
        onInput={(event) => (typed.value = { ...typed.value, part: event.currentTarget.value })}
      />
      <span id="token-part-hint" class="note">
        {say('tokens.partHint')}
      </span>
    </div>
  )
}
