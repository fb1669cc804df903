-- Every plant. STRICT keeps types exact. The id is the rowid, so that ids which count up are appended to the last page:
-- without rowid SQLite would write four pages where it writes two (docs/decisions/0002-sqlite-embedded.md).
CREATE TABLE plants (
  id INTEGER NOT NULL PRIMARY KEY,
  name TEXT NOT NULL,
  tag TEXT
) STRICT;

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
