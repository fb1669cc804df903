-- The part of the store that a token may see and change, as a JSON array of texts; NULL for the whole store. The words in
-- `scopes` of a token with a part begin with `part:`.
ALTER TABLE tokens ADD COLUMN part text COLLATE "C";
