-- The log of changes is read by clients: it gets a running total of its bytes, by which it is kept within bounds, and an
-- index that finds the next change of a plant. The service moves older rows into it beside its other writes, newest first
-- (src/sqlite/change-log/old-changes.ts), because an index over them would take as long as the log is large.
ALTER TABLE changes RENAME TO old_changes;

CREATE TABLE changes (
  -- Changes up to and with the last one of this row. A number is never given twice: the newest row always stays.
  position INTEGER NOT NULL PRIMARY KEY,
  -- Bytes of the log up to and with this row, from any start.
  bytes INTEGER NOT NULL,
  -- Milliseconds since 1970-01-01T00:00Z.
  at INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('create', 'replace', 'update', 'delete')),
  -- Little-endian 64-bit integers. Creates share rows, so theirs may hold many ids; other rows hold one.
  ids BLOB NOT NULL,
  -- The plant as it was before. A created plant has none, so its name is NULL. A plant as it was after a change is the one
  -- before its next change, or else the one in the table plants.
  name TEXT,
  tag TEXT,
  -- The access token that asked for it, where that is known.
  token TEXT,
  -- Of a row of kind delete: plants.created of its plant.
  created INTEGER
) STRICT;
-- By id, and then by position, which is the rowid.
CREATE INDEX changes_of_plant ON changes (ids) WHERE kind <> 'create';

-- The newest position before the commit that created the plant; NULL where that is not known. The row of the log that has
-- its create follows within the changes of one commit.
ALTER TABLE plants ADD COLUMN created INTEGER;

-- What the search index lacks is in the newest rows, which are copied at once. The sums are those of src/sqlite/change-log/change-writer.ts.
INSERT INTO changes
SELECT position, bytes - sum(bytes) OVER (ORDER BY position DESC), at, kind, ids, name, tag, token, NULL
FROM (
  SELECT *, 80 + octet_length(ids) + coalesce(octet_length(name), 0) + coalesce(octet_length(tag), 0) AS bytes
  FROM old_changes ORDER BY position DESC LIMIT 10000
)
WHERE position > (
  SELECT coalesce(max(position), -1) FROM (
    SELECT position, sum(octet_length(ids) + coalesce(octet_length(name), 0) + coalesce(octet_length(tag), 0))
      OVER (ORDER BY position DESC) AS bytes
    FROM (SELECT * FROM old_changes ORDER BY position DESC LIMIT 10000)
  ) WHERE bytes > 16777216 AND position < (SELECT max(position) FROM old_changes)
);
