// Runs the tests of agents on PostgreSQL: the service keeps its promises on every engine.
import { engine } from '../support/engine-under-test.ts'

engine.current = 'postgres'
for (const file of ['refusals', 'tools']) await import(`../mcp/${file}.test.ts`)
