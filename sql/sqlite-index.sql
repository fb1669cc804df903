-- The search index of a SQLite store: a file of its own beside it, which follows the store's log of changes
-- (docs/decisions/0027-change-log-and-search-index.md). It is derived: a file with another version, of another store or with a fault is
-- removed and made again, so this schema has no migrations.

-- One row.
CREATE TABLE state (
  only INTEGER NOT NULL PRIMARY KEY CHECK (only = 1),
  -- This schema, the rules by which texts are folded, and the Unicode version that they rest on.
  version TEXT NOT NULL,
  -- The identity of the store.
  store BLOB NOT NULL,
  -- Where in the log of changes the index is, and what that row of the log looks like: a store that was restored from a
  -- backup may have other changes under the same numbers.
  position INTEGER NOT NULL,
  mark TEXT NOT NULL,
  -- A new index is filled by a scan of all plants, by id. Plants with a larger id than `scanned_to` are in no table yet.
  is_scanning INTEGER NOT NULL,
  scanned_to INTEGER,
  -- Plants that were scanned, and how many there were when the scan began, for who wants to know how long it takes.
  scanned INTEGER NOT NULL,
  plants INTEGER NOT NULL
) STRICT;

-- Sort keys of names, in two tables: new ones go to the small one, which is merged into the large one now and then.
-- Names come in no order, so each would touch a page of its own in a large table.
CREATE TABLE names (
  key TEXT NOT NULL,
  id INTEGER NOT NULL,
  PRIMARY KEY (key, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE recent_names (
  key TEXT NOT NULL,
  id INTEGER NOT NULL,
  PRIMARY KEY (key, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE tags (
  tag TEXT NOT NULL,
  id INTEGER NOT NULL,
  PRIMARY KEY (tag, id)
) STRICT, WITHOUT ROWID;

-- How many entries of `tags` each tag has; a tag without any has no row.
CREATE TABLE tag_counts (
  tag TEXT NOT NULL PRIMARY KEY,
  plants INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The folded words of each plant, cut to twenty characters. To the tokenizer every character beyond ASCII belongs to a
-- word, so what a word is was decided before. A table of its own for every prefix of up to eight characters makes those
-- searches stream.
CREATE VIRTUAL TABLE words USING fts5 (
  terms,
  content = '',
  contentless_delete = 1,
  detail = none,
  tokenize = 'ascii',
  prefix = '1 2 3 4 5 6 7 8'
);

-- A batch of plants is one segment, and eight of them are merged at once: a fifth less time than with the defaults. What
-- the index writes at once fills a page of the file.
INSERT INTO words (words, rank) VALUES ('pgsz', 8100);
INSERT INTO words (words, rank) VALUES ('hashsize', 8388608);
INSERT INTO words (words, rank) VALUES ('automerge', 8);
