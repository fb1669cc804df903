-- Every plant. STRICT keeps types exact. The id is the rowid, so that ids which count up are appended to the last page:
-- without rowid SQLite would write four pages where it writes two (docs/decisions/0002-sqlite-embedded.md).
CREATE TABLE plants (
  id INTEGER NOT NULL PRIMARY KEY,
  name TEXT NOT NULL,
  tag TEXT,
  -- The newest position of the log before the commit that created the plant.
  created INTEGER
) STRICT;

-- Access tokens. Only the SHA-256 of a secret is kept. Times are milliseconds since 1970-01-01T00:00Z.
CREATE TABLE tokens (
  id TEXT NOT NULL PRIMARY KEY,
  hash BLOB NOT NULL UNIQUE,
  name TEXT NOT NULL,
  scopes TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  last_used_at INTEGER,
  -- A revoked token stays listed, and with it that the store had a token once; NULL while it is good.
  revoked_at INTEGER
) STRICT, WITHOUT ROWID;
-- A page of tokens, oldest first; and the tokens that are active, to count them.
CREATE INDEX tokens_by_creation ON tokens (created_at, id);
CREATE INDEX tokens_not_revoked ON tokens (expires_at) WHERE revoked_at IS NULL;

-- One row that the readiness check updates, to learn whether the store takes a write.
CREATE TABLE write_check (
  only INTEGER NOT NULL PRIMARY KEY CHECK (only = 1),
  checked_at INTEGER NOT NULL
) STRICT;
INSERT INTO write_check (only, checked_at) VALUES (1, 0);

-- One log of what changes plants, in the order of the commits, each row written in the transaction that changes the plants.
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
  -- The plant as it was before. A created plant has none, so its name is NULL.
  name TEXT,
  tag TEXT,
  -- The name and the tag of each plant as it was after, in turn, as an array of JSON. NULL for a delete.
  plants TEXT,
  -- The access token that asked for it, where that is known.
  token TEXT,
  -- Of a row of kind delete: plants.created of its plant.
  created INTEGER
) STRICT;
-- By id, and then by position, which is the rowid.
CREATE INDEX changes_of_plant ON changes (ids) WHERE kind <> 'create';

-- One row, which tells this store from all others: an index that follows another one is not used.
CREATE TABLE store_identity (
  only INTEGER NOT NULL PRIMARY KEY CHECK (only = 1),
  identity BLOB NOT NULL
) STRICT;
INSERT INTO store_identity (only, identity) VALUES (1, randomblob(16));

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
-- The keys of requests that reserved ids, oldest first: each is forgotten after a day, and its range joins its neighbours.
CREATE INDEX id_reservations_by_key_time ON id_reservations (at) WHERE key IS NOT NULL;

-- Webhooks, as JSON. `version` grows with each change by a client. The secrets are in clear, because they sign.
CREATE TABLE webhooks (
  id TEXT PRIMARY KEY NOT NULL,
  creator TEXT NOT NULL,
  version INTEGER NOT NULL,
  definition TEXT NOT NULL,
  progress TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The last attempts of each webhook, as JSON.
CREATE TABLE webhook_attempts (
  webhook TEXT NOT NULL,
  number INTEGER NOT NULL,
  attempt TEXT NOT NULL,
  PRIMARY KEY (webhook, number)
) STRICT, WITHOUT ROWID;
