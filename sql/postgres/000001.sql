-- Every text is compared by its bytes (collation "C"): exact, and the same whatever locale the database has. No table
-- refers to another, and every row is found by its own id, so that the tables can be spread over several servers.

-- Every plant. What searching and sorting need is folded by the program (src/domain/fold.ts) and kept beside the plant.
CREATE TABLE plants (
  id bigint PRIMARY KEY,
  name text COLLATE "C" NOT NULL,
  tag text COLLATE "C",
  -- The start of the folded name.
  sort_key text COLLATE "C" NOT NULL,
  -- The folded words of name and tag, cut to a length that an index takes; whoever searches looks at the plant again.
  words tsvector NOT NULL
);
CREATE INDEX plants_by_name ON plants (sort_key, id);
-- By the first 128 characters: an index takes no longer ones, and a tag may have any length.
CREATE INDEX plants_by_tag ON plants (left(tag, 128), id) WHERE tag IS NOT NULL;
-- The limit, in kB, is above what the program lets come together (src/postgres/word-index.ts).
CREATE INDEX plants_by_word ON plants USING gin (words) WITH (gin_pending_list_limit = 16384);

-- Access tokens. Only the SHA-256 of a secret is kept. Times are milliseconds since 1970-01-01T00:00Z.
CREATE TABLE tokens (
  id text COLLATE "C" PRIMARY KEY,
  hash bytea NOT NULL UNIQUE,
  name text COLLATE "C" NOT NULL,
  scopes text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint,
  last_used_at bigint
);

-- One row that the readiness check updates, to learn whether the store takes a write.
CREATE TABLE write_check (
  id integer PRIMARY KEY CHECK (id = 1),
  checked_at bigint NOT NULL
);
INSERT INTO write_check (id, checked_at) VALUES (1, 0);
