/**
 * The statements that list tags. `where` is a condition on `tag` and, for plants, on their words; `$1` is the number of
 * tags, or of plants.
 *
 * Tried: to count the plants of each tag, which reads all of them. `tag_counts` has the sums, and `tag_changes` what
 * writes have appended since, so that no two writes of a tag wait for each other (sql/postgres/000001.sql).
 */

/** A change may remove the last plant of a tag, so the statement reads one more tag for each changed tag. */
export const firstTags = (where: string): string => `WITH
      changed AS MATERIALIZED (SELECT tag, sum(plants) AS plants FROM tag_changes WHERE ${where} GROUP BY tag),
      counted AS (SELECT tag, plants FROM tag_counts WHERE ${where} ORDER BY tag
        LIMIT $1::bigint + (SELECT count(*) FROM changed))
    SELECT tag, sum(plants) FROM (TABLE counted UNION ALL TABLE changed) AS each
      GROUP BY tag HAVING sum(plants) > 0 ORDER BY tag LIMIT $1`

/** The tags `$2` that plants have. */
export const COUNTS_OF = `SELECT tag, sum(plants) FROM (TABLE tag_counts UNION ALL TABLE tag_changes) AS each
    WHERE tag = ANY ($2::text[]) GROUP BY tag HAVING sum(plants) > 0 ORDER BY tag LIMIT $1`

/** The tags of at most so many plants, each with the number of plants that were read. */
export const tagsOfPlants = (where: string): string => `WITH found AS MATERIALIZED
      (SELECT tag FROM plants WHERE ${where} LIMIT $1)
    SELECT DISTINCT tag, (SELECT count(*) FROM found) FROM found`

/** The first tags, counted by the plants alone: those with the words of a tag are all of its plants. */
export const countedTags = (where: string): string =>
  `SELECT tag, count(*) FROM plants WHERE ${where} GROUP BY tag ORDER BY tag LIMIT $1`
