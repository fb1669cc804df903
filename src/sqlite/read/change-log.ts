import type { ChangeLog } from '../../domain/changes.ts'
import type { QueryClient } from './query-client.ts'

/** The log of changes for clients. The thread for queries reads it. */
export const sqliteChanges = (reads: () => QueryClient): ChangeLog => ({
  end: async () => reads().read((reader) => reader.endOfChanges()),
  read: async (request, signal) => reads().read((reader) => reader.readChanges(request), signal),
  history: async (id, before, limit, signal) => reads().read((reader) => reader.history(id, before, limit), signal),
  usage: async () => reads().read((reader) => reader.usageOfChanges()),
})
