-- How many plants have each tag: sums, and the changes since. A statement that writes plants appends what it changes, so
-- that no two of them wait for each other; the service adds the changes up (src/postgres/tag-counts.ts). Plants that are
-- distributed over several servers are counted where they are, as triggers and these tables would be on one of them.
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
  CREATE TABLE tag_counts (tag text COLLATE "C" NOT NULL, plants bigint NOT NULL);
  CREATE TABLE tag_changes (tag text COLLATE "C" NOT NULL, plants bigint NOT NULL);
  CREATE FUNCTION count_tags() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
    BEGIN
      IF TG_OP = 'INSERT' THEN
        INSERT INTO tag_changes SELECT tag, count(*) FROM added WHERE tag IS NOT NULL GROUP BY tag;
      ELSIF TG_OP = 'DELETE' THEN
        INSERT INTO tag_changes SELECT tag, -count(*) FROM removed WHERE tag IS NOT NULL GROUP BY tag;
      ELSIF TG_OP = 'UPDATE' THEN
        INSERT INTO tag_changes SELECT tag, sum(change)
          FROM (SELECT tag, 1 AS change FROM added UNION ALL SELECT tag, -1 FROM removed) AS changed
          WHERE tag IS NOT NULL GROUP BY tag HAVING sum(change) <> 0;
      ELSE
        DELETE FROM tag_counts;
        DELETE FROM tag_changes;
      END IF;
      RETURN NULL;
    END
  $function$;
  -- From here on, writers wait until the migration ends, so that none is missed.
  CREATE TRIGGER plants_added AFTER INSERT ON plants
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_tags();
  CREATE TRIGGER plants_removed AFTER DELETE ON plants
    REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION count_tags();
  CREATE TRIGGER plants_changed AFTER UPDATE ON plants
    REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_tags();
  CREATE TRIGGER plants_cleared AFTER TRUNCATE ON plants FOR EACH STATEMENT EXECUTE FUNCTION count_tags();
  INSERT INTO tag_counts SELECT tag, count(*) FROM plants WHERE tag IS NOT NULL GROUP BY tag;
  -- By the first 128 characters: an index takes no longer ones, and a tag may have any length.
  CREATE INDEX tag_counts_by_tag ON tag_counts (left(tag, 128));
END
$migration$;
