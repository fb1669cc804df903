-- Every plant. STRICT keeps types exact. WITHOUT ROWID makes the id the only key: an id that is NULL or NaN is an error
-- instead of a new random number, and no large rowid is left on the connection for Node to stumble over
-- (https://github.com/nodejs/node/issues/65177).
CREATE TABLE plants (
  id INTEGER NOT NULL PRIMARY KEY,
  name TEXT NOT NULL,
  tag TEXT
) STRICT, WITHOUT ROWID;

-- Access tokens. Only the SHA-256 of a secret is kept. Times are milliseconds since 1970-01-01T00:00Z.
CREATE TABLE tokens (
  id TEXT NOT NULL PRIMARY KEY,
  hash BLOB NOT NULL UNIQUE,
  name TEXT NOT NULL,
  scopes TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  last_used_at INTEGER
) STRICT, WITHOUT ROWID;

-- One row that the readiness check updates, to learn whether the store takes a write.
CREATE TABLE write_check (
  only INTEGER NOT NULL PRIMARY KEY CHECK (only = 1),
  checked_at INTEGER NOT NULL
) STRICT;
INSERT INTO write_check (only, checked_at) VALUES (1, 0);
