import type { JSX } from 'preact'
import { type Contract, resolved, type Schema } from './contract.ts'
import { Inline } from './prose.tsx'

/** A section with a table for each object of the contract. */
export function Schemas({ contract }: { readonly contract: Contract }): JSX.Element {
  const objects = Object.entries(contract.components.schemas).filter(([, schema]) => schema.type === 'object')
  return (
    <>
      {objects.map(([name, { properties = {}, required = [] }]) => (
        <section key={name} id={`schema-${name}`} aria-labelledby={`schema-${name}-title`}>
          <h3 id={`schema-${name}-title`} translate={false}>
            {name}
          </h3>
          <table>
            <thead>
              <tr>
                <th>Member</th>
                <th>Type</th>
                <th>Required</th>
                <th>Meaning</th>
              </tr>
            </thead>
            <tbody>
              {Object.entries(properties).map(([member, of]) => {
                const schema = resolved(contract.components.schemas, of)
                return (
                  <tr key={member}>
                    <td translate={false}>{member}</td>
                    <td>{typeOf(schema)}</td>
                    <td>{required.includes(member) ? 'yes' : 'no'}</td>
                    <td>
                      <Inline text={schema.description ?? ''} />
                    </td>
                  </tr>
                )
              })}
            </tbody>
          </table>
        </section>
      ))}
    </>
  )
}

function typeOf({ type, format, items }: Schema): string {
  const name =
    type === 'array' ? `array of ${items?.$ref?.split('/').at(-1) ?? items?.type}` : [type].flat().join(' or ')
  return format === undefined ? name : `${name} (${format})`
}
