-- What actions have changed, as far as the ticks go: a list then reads as much of a large action as of a small one. Only
-- ticks write sums, one after the other, so that no two writes of an action wait for each other. They stay as they are
-- when the log lets go of changes.
CREATE TABLE action_sums (
  action text COLLATE "C" PRIMARY KEY,
  ended timestamptz NOT NULL,
  created bigint NOT NULL,
  updated bigint NOT NULL,
  deleted bigint NOT NULL
);

-- Adds what is new in a tick. A trigger, because services of the schema before make ticks, too. Nested loops: OFFSET 0 and
-- LATERAL leave the planner no other.
CREATE FUNCTION sum_actions() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
  BEGIN
    INSERT INTO action_sums AS sums (action, ended, created, updated, deleted)
      SELECT change.action, max(row.at), sum(row.created), sum(row.updated), sum(row.deleted)
        FROM (SELECT snapshot FROM change_ticks WHERE tick = NEW.tick - 1 OFFSET 0) AS earlier
        CROSS JOIN LATERAL (SELECT action, number FROM changes_between(earlier.snapshot, NEW.snapshot)
          WHERE action IS NOT NULL OFFSET 0) AS change
        CROSS JOIN LATERAL (SELECT at, created, updated, deleted FROM action_rows
          WHERE action_rows.action = change.action AND action_rows.number = change.number OFFSET 0) AS row
        WHERE coalesce((SELECT is_summed FROM actions WHERE id = change.action), true)
        GROUP BY change.action
      ON CONFLICT (action) DO UPDATE SET ended = greatest(sums.ended, excluded.ended),
        created = sums.created + excluded.created, updated = sums.updated + excluded.updated,
        deleted = sums.deleted + excluded.deleted;
    RETURN NULL;
  END
$function$;
CREATE TRIGGER tick_made AFTER INSERT ON change_ticks FOR EACH ROW EXECUTE FUNCTION sum_actions();

-- Whether sums have what the action has changed. Those from before this schema have none until the service adds them up,
-- the newest first (src/postgres/changes/retention.ts).
ALTER TABLE actions ADD COLUMN is_summed boolean NOT NULL DEFAULT false;
ALTER TABLE actions ALTER COLUMN is_summed SET DEFAULT true;
CREATE INDEX actions_not_summed ON actions (began) WHERE NOT is_summed;

-- Sums go with their action.
CREATE FUNCTION forget_sums() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
  BEGIN
    IF TG_OP = 'DELETE' THEN
      DELETE FROM action_sums WHERE action = ANY (ARRAY(SELECT id FROM removed));
    ELSE
      DELETE FROM action_sums;
    END IF;
    RETURN NULL;
  END
$function$;
CREATE TRIGGER actions_removed AFTER DELETE ON actions
  REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION forget_sums();
CREATE TRIGGER actions_cleared AFTER TRUNCATE ON actions FOR EACH STATEMENT EXECUTE FUNCTION forget_sums();
