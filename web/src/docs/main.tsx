import { type JSX, render } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { SERVICE } from '../page/service.ts'
import { KEY } from '../session/token-key.ts'
import { type Contract, type Operation, operationsOf, readContract } from './contract.ts'
import { FirstRequest } from './first-request.tsx'
import { OperationSection } from './operation.tsx'
import { Prose } from './prose.tsx'
import { Schemas } from './schemas.tsx'

interface Group {
  readonly name: string
  readonly description?: string
  readonly operations: readonly Operation[]
}

/** The page at /docs: every operation of the contract, with a form that sends it. */
function Docs(): JSX.Element {
  const [contract, setContract] = useState<Contract>()
  const [fault, setFault] = useState<string>()
  // sessionStorage belongs to one tab and ends with it.
  const [token, setToken] = useState(sessionStorage.getItem(KEY) ?? '')
  useEffect(() => void readContract().then(setContract, (error: unknown) => setFault(String(error))), [])
  useEffect(() => {
    // The browser looked for the target of the hash before the page had it.
    if (contract !== undefined && location.hash !== '')
      document.getElementById(location.hash.slice(1))?.scrollIntoView()
  }, [contract])
  const groups = contract === undefined ? [] : groupsOf(contract)
  return (
    <>
      <header>
        <h1>Plantstore API</h1>
        {contract !== undefined && (
          <p>
            Version {contract.info.version}. <a href={`${SERVICE}/openapi.json`}>openapi.json</a>
          </p>
        )}
        <TokenForm token={token} onToken={setToken} />
      </header>
      <div class="columns">
        <nav aria-label="Operations">
          {groups.map((group) => (
            <Contents key={group.name} {...group} />
          ))}
        </nav>
        <main aria-busy={contract === undefined && fault === undefined ? 'true' : undefined}>
          {fault !== undefined && <p role="alert">The page could not read the contract: {fault}</p>}
          {contract === undefined ? (
            <p>
              Reading <a href={`${SERVICE}/openapi.json`}>/openapi.json</a>…
            </p>
          ) : (
            <>
              <FirstRequest token={token.trim()} />
              <Prose text={contract.info.description} />
              {groups.map((group) => (
                <Operations key={group.name} {...group} contract={contract} token={token.trim()} />
              ))}
              <h2>objects</h2>
              <Schemas contract={contract} />
            </>
          )}
        </main>
      </div>
    </>
  )
}

interface TokenFormProps {
  readonly token: string
  readonly onToken: (token: string) => void
}

function TokenForm({ token, onToken }: TokenFormProps): JSX.Element {
  return (
    <form onSubmit={(event) => event.preventDefault()}>
      <label for="token">Access token</label>
      <input
        id="token"
        type="password"
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        aria-describedby="token-note"
        value={token}
        onInput={({ currentTarget: { value } }) => {
          sessionStorage.setItem(KEY, value)
          onToken(value)
        }}
      />
      <p id="token-note" class="note">
        This tab keeps the token until you close it. It goes to this service alone.
      </p>
    </form>
  )
}

interface OperationsProps extends Group {
  readonly contract: Contract
  readonly token: string
}

function Operations({ name, description, operations, contract, token }: OperationsProps): JSX.Element {
  return (
    <div>
      <h2>{name}</h2>
      <p>{description}</p>
      {operations.map((operation) => (
        <OperationSection key={operation.operationId} contract={contract} operation={operation} token={token} />
      ))}
    </div>
  )
}

function groupsOf(contract: Contract): Group[] {
  const operations = operationsOf(contract)
  return contract.tags.map((tag) => ({ ...tag, operations: operations.filter(({ tags }) => tags.includes(tag.name)) }))
}

function Contents({ name, operations }: Group): JSX.Element {
  return (
    <div>
      <h2>{name}</h2>
      <ul>
        {operations.map(({ operationId, method, path }) => (
          <li key={operationId}>
            <a href={`#${operationId}`} translate={false}>
              <span class={`method ${method}`}>{method}</span> {path}
            </a>
          </li>
        ))}
      </ul>
    </div>
  )
}

document.getElementById('not-loaded')?.remove()
render(<Docs />, document.body)
