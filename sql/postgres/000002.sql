-- Times of a clock that no step of a wall clock moves (src/records/steady-clock.ts), in milliseconds.
CREATE TABLE steady_times (
  time bigint PRIMARY KEY,
  -- The wall clock of the instance at that time, in milliseconds since 1970-01-01T00:00Z.
  wall bigint NOT NULL,
  -- The newest tick at that time.
  newest bigint NOT NULL
);

-- As before, but a tick that is from before the server's clock was set back is not young.
CREATE OR REPLACE FUNCTION tick_changes(rest interval, given pg_snapshot) RETURNS bigint
  LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
  DECLARE
    last change_ticks;
    seen pg_snapshot := given;
    more record;
  BEGIN
    -- The bytes "PLNT" and "TICK". Each of the statements below then has a snapshot with the tick before.
    PERFORM pg_advisory_xact_lock(5786085745362551627);
    SELECT * INTO last FROM change_ticks ORDER BY tick DESC LIMIT 1;
    IF given IS NULL THEN
      IF clock_timestamp() >= last.made_at AND clock_timestamp() < last.made_at + rest THEN
        RETURN NULL;
      END IF;
      SELECT pg_current_snapshot() INTO seen;
    ELSIF pg_snapshot_xmax(given) < pg_snapshot_xmax(last.snapshot)
      OR EXISTS (SELECT FROM pg_snapshot_xip(given) AS xid WHERE pg_visible_in_snapshot(xid, last.snapshot)) THEN
      RETURN NULL;
    END IF;
    SELECT sum(cardinality(ids)) AS entries, sum(size) + 100 * count(*) AS bytes INTO more
      FROM changes_between(last.snapshot, seen);
    IF more.entries IS NULL THEN
      RETURN last.tick;
    END IF;
    INSERT INTO change_ticks VALUES (last.tick + 1, floor(random() * 2147483647), clock_timestamp(),
      last.entries + more.entries, last.bytes + more.bytes + 100, seen);
    RETURN last.tick + 1;
  END
$function$;
