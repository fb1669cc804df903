-- The words of plants that have too many for the index of words (src/postgres/search-terms.ts), sorted and cut into
-- blocks. Each has the words from its first one on and before `until`, with a blank before each, so that a search reads
-- one block of a plant for each word. Only plants whose words are '*' and '**' count; other rows are left from instances
-- of an earlier version.
CREATE TABLE wide_words (
  plant bigint NOT NULL,
  first text COLLATE "C" NOT NULL,
  until text COLLATE "C" NOT NULL,
  words text COLLATE "C" NOT NULL,
  PRIMARY KEY (plant, first)
);
CREATE INDEX wide_words_by_word ON wide_words (first, until);
DO $migration$
DECLARE
  is_distributed boolean := false;
BEGIN
  IF to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL THEN
    EXECUTE $$SELECT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = 'plants'::regclass)$$
      INTO is_distributed;
  END IF;
  IF is_distributed THEN
    EXECUTE $$SELECT create_distributed_table('wide_words', 'plant', colocate_with := 'plants')$$;
  END IF;
END
$migration$;
