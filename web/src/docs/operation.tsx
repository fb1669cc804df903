import type { JSX, TargetedEvent } from 'preact'
import { useState } from 'preact/hooks'
import { type Contract, exampleText, type Operation, type Parameter, type RequestBody, resolved } from './contract.ts'
import { Inline, Prose } from './prose.tsx'
import { curlOf, type Request, requestOf, type ShownAnswer, send } from './request.ts'

interface OperationProps {
  readonly contract: Contract
  readonly operation: Operation
  readonly token: string
}

/** The last request of a form, and its answer or why there is none. */
export interface Sent {
  readonly number: number
  readonly request: Request
  readonly answer: ShownAnswer | string
}

/** The section of an operation: its description, a form with the examples of the contract, and the last answer. */
export function OperationSection({ contract, operation, token }: OperationProps): JSX.Element {
  const { operationId: id, method, path, summary, description, parameters, requestBody, responses } = operation
  const [sent, setSent] = useState<Sent>()
  const [isBusy, setBusy] = useState(false)
  const submit = async (event: TargetedEvent<HTMLFormElement>) => {
    event.preventDefault()
    const request = requestOf(operation, event.currentTarget, token)
    setBusy(true)
    const answer = await send(request).catch((error: Error) => `No answer: ${error.message}`)
    setSent((last) => ({ number: (last?.number ?? 0) + 1, request, answer }))
    setBusy(false)
  }
  const scopes = operation['x-scopes'] ?? []
  return (
    <section id={id} aria-labelledby={`${id}-title`}>
      <h3 id={`${id}-title`} translate={false}>
        <span class={`method ${method}`}>{method}</span> {path}
      </h3>
      <p class="summary">{summary}</p>
      <Prose text={description} />
      <p class="note">
        <Inline
          text={
            operation.security.length === 0
              ? 'Needs no token.'
              : `Needs a token${scopes.length === 0 ? '' : ` with the scope \`${scopes.join(', ')}\``}.`
          }
        />
      </p>
      <form aria-label={`Request of ${id}`} onSubmit={(event) => void submit(event)}>
        {parameters.map((parameter) => (
          <ParameterField key={parameter.in + parameter.name} {...{ contract, id, parameter }} />
        ))}
        {requestBody !== undefined && <BodyFields {...{ id, requestBody }} />}
        <AcceptField {...{ contract, id, responses }} />
        <button type="submit" class="primary">
          Send
        </button>
      </form>
      <div class="answer" role="status" aria-label={`Answer of ${id}`} aria-busy={isBusy ? 'true' : undefined}>
        {sent !== undefined && <Shown key={sent.number} {...sent} />}
      </div>
      <Answers {...{ contract, responses, numbers: operation['x-errors'] }} />
    </section>
  )
}

interface ParameterProps {
  readonly contract: Contract
  readonly id: string
  readonly parameter: Parameter
}

function ParameterField({ contract, id, parameter }: ParameterProps): JSX.Element {
  const { name, in: place, description = '', required = false } = parameter
  // An example of a filter would find nothing in most stores.
  const example = required ? (parameter.example ?? '') : ''
  const schema = resolved(contract.components.schemas, parameter.schema)
  const control = { id: `${id}-${place}-${name}`, name: `${place}:${name}`, required }
  const described = { ...control, 'aria-describedby': `${control.id}-note` }
  const choices = schema.type === 'boolean' ? ['true', 'false'] : schema.enum
  return (
    <div class="field">
      <label for={control.id} translate={false}>
        {name} <span class="place">{place}</span>
      </label>
      {choices !== undefined ? (
        <select {...described} translate={false}>
          <option value="" />
          {choices.map((choice) => (
            <option key={choice} selected={choice === String(example)}>
              {choice}
            </option>
          ))}
        </select>
      ) : schema.type === 'array' ? (
        <textarea {...described} rows={2} placeholder="one per line" defaultValue={String(example)} />
      ) : (
        <input {...described} defaultValue={String(example)} autocomplete="off" spellcheck={false} />
      )}
      <span class="note" id={`${control.id}-note`}>
        <Inline text={description} />
      </span>
    </div>
  )
}

function BodyFields({ id, requestBody }: { readonly id: string; readonly requestBody: RequestBody }): JSX.Element {
  const { content, description, 'x-streamed': isStreamed = false } = requestBody
  const types = Object.keys(content)
  const [text, setText] = useState(exampleText(content[types[0] ?? '']))
  return (
    <>
      <div class="field">
        <label for={`${id}-type`} translate={false}>
          Content-Type
        </label>
        <select
          id={`${id}-type`}
          name="Content-Type"
          translate={false}
          onChange={({ currentTarget }) => setText(exampleText(content[currentTarget.value]))}
        >
          {types.map((type) => (
            <option key={type}>{type}</option>
          ))}
        </select>
      </div>
      <div class="field">
        <label for={`${id}-body`}>Body</label>
        <textarea
          id={`${id}-body`}
          name="body"
          rows={6}
          spellcheck={false}
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
      </div>
      <div class="note">
        <Prose text={description} />
      </div>
      {isStreamed && (
        <div class="field">
          <label for={`${id}-file`}>File instead of the body</label>
          <input id={`${id}-file`} name="file" type="file" />
        </div>
      )}
    </>
  )
}

interface ResponsesProps {
  readonly contract: Contract
  readonly responses: Operation['responses']
}

/** The choice among the media types of an answer, where it has several. */
function AcceptField({ contract, id, responses }: ResponsesProps & { readonly id: string }): JSX.Element | null {
  const answer = responses['200']
  const types = Object.keys((answer && resolved(contract.components.responses, answer).content) ?? {})
  if (types.length < 2) return null
  return (
    <div class="field">
      <label for={`${id}-accept`} translate={false}>
        Accept
      </label>
      <select id={`${id}-accept`} name="Accept" translate={false}>
        {['*/*', ...types].map((type) => (
          <option key={type}>{type}</option>
        ))}
      </select>
    </div>
  )
}

interface ShownProps extends Sent {
  /** Whether the page shows the command of the request here. */
  readonly hasCommand?: boolean
}

/** Makes text nodes alone, so that the browser never reads an answer of the service as HTML. */
export function Shown({ request, answer, hasCommand = true }: ShownProps): JSX.Element {
  return (
    <div>
      {hasCommand && (
        <pre class="sent" translate={false} tabIndex={0} role="region" aria-label="Command">
          {curlOf(request)}
        </pre>
      )}
      <p class="status" translate={false}>
        {typeof answer === 'string' ? answer : answer.status}
      </p>
      {typeof answer !== 'string' && (
        <>
          <pre class="headers" translate={false} tabIndex={0} role="region" aria-label="Headers">
            {answer.headers.map(([name, value]) => `${name}: ${value}`).join('\n')}
          </pre>
          <pre class="body" translate={false} tabIndex={0} role="region" aria-label="Body">
            {answer.text}
          </pre>
          {!answer.isWhole && (
            <p class="note">The page shows only the beginning of this body. Use the command to get all of it.</p>
          )}
        </>
      )}
    </div>
  )
}

const AnswerRow = ({ status, description }: { readonly status: string; readonly description: string }): JSX.Element => (
  <div>
    <dt>{status}</dt>
    <dd>
      <Inline text={description.trim()} />
    </dd>
  </div>
)

/** The answers of an operation by their statuses, and its refusals by their numbers. */
function Answers({
  contract,
  responses,
  numbers,
}: ResponsesProps & { readonly numbers: readonly number[] }): JSX.Element {
  return (
    <details>
      <summary>Answers</summary>
      <dl>
        {Object.entries(responses).flatMap(([status, response]) => {
          const { description } = resolved(contract.components.responses, response)
          return /^[123]/.test(status) ? [<AnswerRow key={status} {...{ status, description }} />] : []
        })}
        {numbers.map((number) => (
          <AnswerRow key={number} status={String(number)} description={contract['x-errors'][number] ?? ''} />
        ))}
      </dl>
    </details>
  )
}
