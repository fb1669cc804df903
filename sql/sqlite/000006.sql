-- Ranges of ids that were handed out, for plants that are entered later.
CREATE TABLE id_reservations (
  first_id INTEGER NOT NULL PRIMARY KEY,
  last_id INTEGER NOT NULL CHECK (last_id >= first_id),
  -- SHA-256 over the actor and the key of the request: a retry gets the same range. NULL without a key.
  key BLOB UNIQUE,
  -- Milliseconds since 1970-01-01T00:00Z.
  at INTEGER NOT NULL,
  actor TEXT NOT NULL
) STRICT;
