-- A word of which only the beginning is ASCII, such as `roseя`, also has that beginning with `>` before it, so that a
-- search for whole words can tell that there is a longer one (src/postgres/search-terms.ts). Plants that are distributed
-- over several servers are never searched for whole words.
DO $migration$
DECLARE
  is_distributed boolean := false;
BEGIN
  IF to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL THEN
    EXECUTE $$SELECT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = 'plants'::regclass)$$
      INTO is_distributed;
  END IF;
  IF is_distributed THEN
    RETURN;
  END IF;
  UPDATE plants
    SET words = words || array_to_tsvector(ARRAY(
      SELECT DISTINCT '>' || substring(lexeme COLLATE "C" FROM '^<?([a-z0-9]+)') FROM unnest(words)
        WHERE lexeme COLLATE "C" ~ '^<?[a-z0-9]+[^a-z0-9]'))
    -- The words of an ASCII text are ASCII.
    WHERE octet_length(name) + coalesce(octet_length(tag), 0) > length(name) + coalesce(length(tag), 0)
      AND EXISTS (SELECT FROM unnest(words) WHERE lexeme COLLATE "C" ~ '^<?[a-z0-9]+[^a-z0-9]');
END
$migration$;
