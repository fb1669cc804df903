import type { GroupCommitOptions } from '../group-commit.ts'

export interface GroupOptions {
  /** Requests of one kind that may wait or be under way at once. */
  readonly maxWaiting: number
  /** Milliseconds that queued writes of more than one commit may take; any time by default. */
  readonly maxDelay?: number
  /** Groups of one kind that may be under way at once; by default GROUPS_IN_FLIGHT. */
  readonly groupsInFlight?: number | undefined
}

/** Rows in one statement. */
const MAX_GROUP = 1000
/** UTF-16 code units of names and tags that may wait at once. */
const MAX_WAITING_TEXT = 64 * 2 ** 20
/** With one group at a time, this process and the database wait for each other: 15% fewer creates a second. */
const GROUPS_IN_FLIGHT = 2

/** The bounds of the groups in which requests for single plants share a statement. */
export const groupLimits = ({
  maxWaiting,
  maxDelay = Number.POSITIVE_INFINITY,
  groupsInFlight,
}: GroupOptions): Required<Omit<GroupCommitOptions<never>, 'weigh' | 'keyOf' | 'stats'>> => ({
  maxWaiting,
  maxDelay,
  maxWeight: MAX_WAITING_TEXT,
  maxGroup: MAX_GROUP,
  maxInFlight: groupsInFlight ?? GROUPS_IN_FLIGHT,
  parts: groupsInFlight === undefined ? GROUPS_IN_FLIGHT : 1,
})
