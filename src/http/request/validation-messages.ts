import type { ErrorObject } from 'ajv/dist/2020.js'

/** A fault of one member of a body or of one parameter; of the whole body where `member` is empty. */
export interface Fault {
  readonly member: string
  readonly message: string
}

/** Returns an error of Ajv as a message that continues the name of its member. */
export function faultOf(error: ErrorObject): Fault {
  const { keyword, params } = error
  if (keyword === 'required') return { member: params['missingProperty'], message: 'is required' }
  return { member: error.instancePath.slice(1), message: wordsOf(error) }
}

function wordsOf({ keyword, params, parentSchema, message = keyword }: ErrorObject): string {
  switch (keyword) {
    case 'type':
      return `must be ${[params['type']].flat().map(article).join(' or ')}`
    case 'pattern':
      return String(parentSchema?.['x-pattern-says'] ?? message)
    case 'enum':
      return `must be one of ${params['allowedValues'].join(', ')}`
    case 'const':
      return `can only be ${params['allowedValue']} on this operation`
    case 'minimum':
      return `must be at least ${params['limit']}`
    case 'maxLength':
      return `must have at most ${params['limit']} characters`
    case 'maxItems':
      return `may be given at most ${params['limit']} times`
    default:
      return message
  }
}

const article = (type: string): string => (type === 'null' ? type : `${/^[aeiou]/.test(type) ? 'an' : 'a'} ${type}`)
