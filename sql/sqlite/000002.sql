-- The indexes of plants. They are written later than the plants, many at a time (docs/decisions/0014-search-index.md), so
-- a plant may be missing in all of them. It is never in only some of them, and never as it no longer is: whatever
-- changes or deletes a plant takes its entries away in the same transaction.

-- Plants that are to be indexed: the ids of one write each, as little-endian 64-bit integers one behind the other.
CREATE TABLE plant_journal (
  seq INTEGER NOT NULL PRIMARY KEY,
  ids BLOB NOT NULL
) STRICT;

-- One row: what the indexes were made with, and how far a scan of all plants that fills them has come.
CREATE TABLE plant_index (
  only INTEGER NOT NULL PRIMARY KEY CHECK (only = 1),
  -- The version of the rules by which texts are folded. Under another one all indexes are made anew.
  folding TEXT NOT NULL,
  is_scanning INTEGER NOT NULL,
  -- Of the plants with a larger id some may be missing; all of them while this is NULL. Counts while it is scanning.
  scanned_to INTEGER
) STRICT;
INSERT INTO plant_index (only, folding, is_scanning, scanned_to) VALUES (1, '', 0, NULL);

-- Sort keys of names. The entry that tells whether a plant is indexed.
CREATE TABLE plant_names (
  key TEXT NOT NULL,
  id INTEGER NOT NULL,
  PRIMARY KEY (key, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE plant_tags (
  tag TEXT NOT NULL,
  id INTEGER NOT NULL,
  PRIMARY KEY (tag, id)
) STRICT, WITHOUT ROWID;

-- How many entries of plant_tags each tag has; a tag without any has no row.
CREATE TABLE tag_counts (
  tag TEXT NOT NULL PRIMARY KEY,
  plants INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The folded words of each plant, cut to eight characters. To the tokenizer every character beyond ASCII belongs to a
-- word, so what a word is was decided before. A table of its own for every shorter prefix makes those searches stream.
CREATE VIRTUAL TABLE plant_words USING fts5 (
  words,
  content = '',
  contentless_delete = 1,
  detail = none,
  tokenize = 'ascii',
  prefix = '1 2 3 4 5 6 7'
);
