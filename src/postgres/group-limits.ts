import type { GroupCommitOptions } from '../base/group-commit.ts'

export interface GroupOptions {
  /** Maximum number of requests of one kind that wait or are under way. */
  readonly maxWaiting: number
  /** Milliseconds that queued writes of more than one commit may take; unbounded by default. */
  readonly maxDelay?: number
  /** Maximum number of groups of one kind that are under way; GROUPS_IN_FLIGHT by default. */
  readonly groupsInFlight?: number | undefined
}

/** Maximum number of rows in one statement. */
const MAX_GROUP = 1000
/** Maximum number of UTF-16 units of names and tags that wait. */
const MAX_WAITING_TEXT = 64 * 2 ** 20
/** With one group at a time, this process and the database wait for each other, and make 15% fewer creates a second. */
const GROUPS_IN_FLIGHT = 2

/** Returns the bounds of groups, in which requests for single plants share a statement. */
export const groupLimits = ({
  maxWaiting,
  maxDelay = Number.POSITIVE_INFINITY,
  groupsInFlight,
}: GroupOptions): Required<Omit<GroupCommitOptions<never>, 'weigh' | 'keyOf' | 'stats' | 'maxGather'>> => ({
  maxWaiting,
  maxDelay,
  maxWeight: MAX_WAITING_TEXT,
  maxGroup: MAX_GROUP,
  maxInFlight: groupsInFlight ?? GROUPS_IN_FLIGHT,
  parts: groupsInFlight === undefined ? GROUPS_IN_FLIGHT : 1,
})
