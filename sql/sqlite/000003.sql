-- One log of what changes plants, in the order of the commits, each row written in the transaction that changes the plants.
-- What is derived from the plants follows it.
CREATE TABLE changes (
  -- Changes up to and with the last one of this row. A number is never given twice: the newest row always stays.
  position INTEGER NOT NULL PRIMARY KEY,
  -- Milliseconds since 1970-01-01T00:00Z.
  at INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('create', 'replace', 'update', 'delete')),
  -- Little-endian 64-bit integers. Creates share rows, so theirs may hold many ids; other rows hold one.
  ids BLOB NOT NULL,
  -- The plant as it was before. A created plant has none, so its name is NULL.
  name TEXT,
  tag TEXT,
  -- The access token that asked for it, where that is known.
  token TEXT
) STRICT;

-- One row, which tells this store from all others: an index that follows another one is not used.
CREATE TABLE store_identity (
  only INTEGER NOT NULL PRIMARY KEY CHECK (only = 1),
  identity BLOB NOT NULL
) STRICT;
INSERT INTO store_identity (only, identity) VALUES (1, randomblob(16));
