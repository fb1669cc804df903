import type { ToolAnnotations } from '@modelcontextprotocol/server'
import { ACTION_ID } from '../domain/actions.ts'
import type { OperationParameters } from '../http/request/operations.generated.ts'
import type { OperationCall } from '../http/resources/agents.ts'

/** The arguments of a call, once they fit the schema of the tool. */
export type Arguments = Readonly<Record<string, unknown>>

/** A tool: one operation of the contract in the words of agents. Its scopes, bounds and refusals are the operation's. */
export interface Tool {
  readonly operation: keyof OperationParameters
  readonly title: string
  readonly description: string
  readonly hints: ToolAnnotations
  readonly properties: Readonly<Record<string, object>>
  readonly required?: readonly string[]
  /** The member of the result that has the body of the answer. */
  readonly result: string
  readonly callOf: (given: Arguments) => Omit<OperationCall, 'operation'>
}

const READS: ToolAnnotations = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
}
const ADDS: ToolAnnotations = { ...READS, readOnlyHint: false }
const REPLACES: ToolAnnotations = { ...ADDS, destructiveHint: true }

/** Rows of a result. More would fill the context of an agent, and each turn of the event loop writes one result. */
const MAX_ROWS = 50
const DEFAULT_ROWS = 20

const ID = {
  type: 'string',
  // Another text could be the path of another operation, as export is.
  pattern: '^-?[0-9]+$',
  description: 'The id in decimal digits, as a string such as "9007199254740993": a number may be rounded on its way.',
}
const ETAG = {
  type: 'string',
  pattern: '^[0-9A-Za-z-]{1,64}$',
  description: 'The etag of get_plant, so that nothing is overwritten that you have not seen.',
}
const NAME = { type: 'string', description: 'At most 1,000 characters, stored as they are.' }
const PAGE = {
  limit: { type: 'integer', minimum: 1, maximum: MAX_ROWS, description: `${DEFAULT_ROWS} by default.` },
  cursor: { type: 'string', description: 'The next of the previous result, with the same other arguments.' },
}

/** Writes arguments as parameters of a query, in the order of their names in the call. */
const queryOf = (given: Arguments): (readonly [string, string])[] =>
  Object.entries(given).flatMap(([name, value]) => [value].flat().map((each) => [name, String(each)] as const))

const FILTER = {
  q: { type: 'string', description: 'Words; each is the beginning of a word in name or tag, in any case.' },
  tag: { type: 'array', items: { type: 'string' }, description: 'Only plants with exactly one of these tags.' },
  tagPrefix: { type: 'string', description: 'Only plants with a tag that begins so.' },
  untagged: { type: 'boolean', description: 'Only plants without a tag. Excludes tag and tagPrefix.' },
}

const pageOf = (given: Arguments) => queryOf({ limit: DEFAULT_ROWS, ...given })

const ifMatch = (etag: unknown) => ({ 'if-match': `"${etag}"` })

/** By their names. */
export const TOOLS: Readonly<Record<string, Tool>> = {
  search_plants: {
    operation: 'listPlants',
    title: 'Search plants',
    description:
      'Finds plants by words of name and tag, or by tag; without arguments, all. `next` leads to the next page.',
    hints: READS,
    properties: {
      ...FILTER,
      sort: {
        type: 'string',
        enum: ['id', '-id', 'name', '-name', '-changed'],
        description: '-changed: the last changes first, only those since `since`. Follow `next` also after few plants.',
      },
      count: { type: 'boolean', description: 'Also tell the number of all that match, as `total`.' },
      ...PAGE,
    },
    result: 'plants',
    callOf: (given) => ({ query: pageOf(given) }),
  },
  get_plant: {
    operation: 'getPlant',
    title: 'Get a plant',
    description: 'Reads one plant with its etag, which update_plant and delete_plant need.',
    hints: READS,
    properties: { id: ID },
    required: ['id'],
    result: 'plant',
    callOf: ({ id }) => ({ id }),
  },
  get_history: {
    operation: 'getHistory',
    title: 'Get the history of a plant',
    description:
      'Reads the changes of one plant, newest first, also of a deleted one. `before` is the plant before each.',
    hints: READS,
    properties: { id: ID, ...PAGE },
    required: ['id'],
    result: 'entries',
    callOf: ({ id, ...page }) => ({ id, query: pageOf(page) }),
  },
  list_deleted: {
    operation: 'listDeletedPlants',
    title: 'List deleted plants',
    description:
      'Lists what is deleted now, newest first, as far back as `since`: `before` is the plant as it was. ' +
      'create_plant brings it back.',
    hints: READS,
    properties: { q: FILTER.q, tag: FILTER.tag, ...PAGE },
    result: 'entries',
    callOf: (given) => ({ query: pageOf(given) }),
  },
  list_tags: {
    operation: 'listTags',
    title: 'List tags',
    description: 'Lists tags with the number of their plants: all, or those that begin so, or have words.',
    hints: READS,
    properties: {
      prefix: { type: 'string', description: 'Only tags that begin so.' },
      q: { type: 'string', description: 'Words; each is the beginning of a word in the tag, in any case.' },
      ...PAGE,
    },
    result: 'tags',
    callOf: (given) => ({ query: pageOf(given) }),
  },
  list_actions: {
    operation: 'listActions',
    title: 'List actions',
    description: 'Lists what was done together, such as imports and the work of agents, newest first.',
    hints: READS,
    properties: { token: { type: 'string', description: 'Only of the token with this id.' }, ...PAGE },
    result: 'actions',
    callOf: (given) => ({ query: pageOf(given) }),
  },
  undo_action: {
    operation: 'undoAction',
    title: 'Undo an action',
    description:
      'Makes plants what they were before an action, but those that something else has changed since. ' +
      'Try it with dryRun first, and ask the person.',
    hints: REPLACES,
    properties: {
      id: { type: 'string', pattern: ACTION_ID.source, description: 'As list_actions has it.' },
      dryRun: { type: 'boolean', description: 'Only tells what it would do.' },
    },
    required: ['id'],
    result: 'report',
    // Without an Idempotency-Key: an agent may undo an action again after a redo. A repeat leaves all plants.
    callOf: ({ id, ...rest }) => ({ id, query: queryOf(rest) }),
  },
  create_plant: {
    operation: 'createPlant',
    title: 'Create a plant',
    description:
      'Stores a new plant. The same plant again is no fault; an id of another plant is refused (40901). ' +
      'A free id is one above the first of search_plants with the sort -id.',
    hints: ADDS,
    properties: { id: ID, name: NAME, tag: { type: 'string', description: 'At most 200 characters.' } },
    required: ['id', 'name'],
    result: 'plant',
    callOf: (plant) => ({ body: JSON.stringify(plant) }),
  },
  update_plant: {
    operation: 'updatePlant',
    title: 'Change a plant',
    description: 'Changes the name or the tag of a plant that is still as you read it; else it is refused (41201).',
    hints: REPLACES,
    properties: { id: ID, etag: ETAG, name: NAME, tag: { type: ['string', 'null'], description: 'null removes it.' } },
    required: ['id', 'etag'],
    result: 'plant',
    callOf: ({ id, etag, ...patch }) => ({ id, headers: ifMatch(etag), body: JSON.stringify(patch) }),
  },
  delete_plant: {
    operation: 'deletePlant',
    title: 'Delete a plant',
    description: 'Deletes a plant that is still as you read it; else it is refused (41201). Ask the person first.',
    hints: REPLACES,
    properties: { id: ID, etag: ETAG },
    required: ['id', 'etag'],
    result: 'deleted',
    callOf: ({ id, etag }) => ({ id, headers: ifMatch(etag) }),
  },
  check_import: {
    operation: 'importPlants',
    title: 'Check a file of plants',
    description: 'Tells what an import of these rows would do, and which rows it would refuse. Stores nothing.',
    hints: READS,
    properties: {
      format: { type: 'string', enum: ['csv', 'ndjson'] },
      content: { type: 'string', description: 'The file: CSV with the columns id, name, tag, or a plant per line.' },
      mode: { type: 'string', enum: ['add', 'update', 'delete'], description: 'add by default.' },
    },
    required: ['format', 'content'],
    result: 'report',
    callOf: ({ format, content, ...rest }) => ({
      query: queryOf({ ...rest, dryRun: true }),
      headers: { 'content-type': format === 'csv' ? 'text/csv' : `application/x-ndjson;IEEE754Compatible=true` },
      body: content,
    }),
  },
}
