-- The search index of a SQLite store, in a separate file that follows the store's log of changes
-- (docs/decisions/0027-change-log-and-search-index.md). The service rebuilds a file with another version, of another
-- store or with a fault, so this schema has no migrations.

-- One row: the version and the progress of the index.
CREATE TABLE state (
  only INTEGER NOT NULL PRIMARY KEY CHECK (only = 1),
  -- The version of this schema, of the folding of texts, and of Unicode (src/sqlite/search-index/index-file.ts).
  version TEXT NOT NULL,
  -- The identity of the store.
  store BLOB NOT NULL,
  -- The position in the log of changes, and the mark of the log's row there. A store that was restored from a backup
  -- may have another row at the same position.
  position INTEGER NOT NULL,
  mark TEXT NOT NULL,
  -- A scan of all plants in the order of ids fills a new index. The tables lack plants with ids after `scanned_to`.
  is_scanning INTEGER NOT NULL,
  scanned_to INTEGER,
  -- The number of plants that the scan has read, and the number of all plants at its start, for the progress.
  scanned INTEGER NOT NULL,
  plants INTEGER NOT NULL,
  -- The number of plants in the tables.
  entries INTEGER NOT NULL
) STRICT;

-- Sort keys of names, in two tables. New keys go to recent_names, and merges move them to names. Keys come in random
-- order, so each INSERT into a large table would write another page. For the same reason recent_names has eight runs,
-- and a batch of plants writes to one of them. While a scan fills a new index, each batch has a further run of its own.
CREATE TABLE names (
  key TEXT NOT NULL,
  id INTEGER NOT NULL,
  PRIMARY KEY (key, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE recent_names (
  run INTEGER NOT NULL,
  key TEXT NOT NULL,
  id INTEGER NOT NULL,
  PRIMARY KEY (run, key, id)
) STRICT, WITHOUT ROWID;

-- The first twenty characters of each key, by id: a search by name for words or tags that many plants have compares
-- these with the last plant of its page, and looks up only the plants that may come before.
CREATE TABLE name_starts (
  id INTEGER NOT NULL PRIMARY KEY,
  start TEXT NOT NULL
) STRICT;

-- The tag of each plant; U+0000, which no tag has, for a plant without one.
CREATE TABLE tags (
  tag TEXT NOT NULL,
  id INTEGER NOT NULL,
  PRIMARY KEY (tag, id)
) STRICT, WITHOUT ROWID;

-- The number of entries in `tags` for each tag. A tag without entries has no row.
CREATE TABLE tag_counts (
  tag TEXT NOT NULL PRIMARY KEY,
  plants INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The folded words of each plant, truncated to twenty characters (src/sqlite/search-index/plant-index.ts). The tokenizer
-- `ascii` takes every character beyond ASCII for a part of a word, so the program splits such texts into words
-- beforehand. The first word of a name follows U+E001, if the sort key begins with it. Some plants also have U+E002, and
-- those without words have U+E003. The prefix indexes let searches for up to eight characters, and U+E001, read their rows
-- in order.
CREATE VIRTUAL TABLE words USING fts5 (
  terms,
  content = '',
  contentless_delete = 1,
  detail = none,
  tokenize = 'ascii',
  prefix = '1 2 3 4 5 6 7 8 9'
);

-- The terms of these plants.
CREATE VIRTUAL TABLE terms USING fts5vocab (words, instance);

-- A batch of plants becomes one segment, and FTS5 merges eight segments at once, in a fifth less time than with the
-- defaults. A leaf of FTS5 (pgsz) fills one page of the file.
INSERT INTO words (words, rank) VALUES ('pgsz', 4050);
INSERT INTO words (words, rank) VALUES ('hashsize', 8388608);
INSERT INTO words (words, rank) VALUES ('automerge', 8);
