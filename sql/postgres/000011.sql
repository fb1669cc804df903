-- The log of changes. A statement that writes plants writes all of their changes as one row. Its number comes after the
-- locks of its plants, so that the numbers of one plant's changes are in the order of their commits. A store that is
-- distributed over several servers keeps no log.
CREATE TABLE changes (
  xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
  number bigint GENERATED ALWAYS AS IDENTITY,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Bytes of the arrays.
  size integer NOT NULL,
  -- One element for each change. A plant without a name is absent: after its deletion, or before its creation. The
  -- plants before are NULL as a whole if all changes are creations.
  ids bigint[] NOT NULL,
  names text[] COLLATE "C" NOT NULL,
  tags text[] COLLATE "C" NOT NULL,
  names_before text[] COLLATE "C",
  tags_before text[] COLLATE "C",
  -- The ids of the actors; a single one if it made all changes.
  tokens text[] COLLATE "C" NOT NULL,
  PRIMARY KEY (xid, number)
-- Most rows stay in their page: to move and compress values from 2,000 bytes on takes longer than to write them.
) WITH (toast_tuple_target = 8160);

-- The transaction that created the plant: its rows of changes have the creation. NULL for a plant that is older than the
-- log.
ALTER TABLE plants ADD COLUMN created_by xid8;
-- The rows of changes with a plant, apart from those that only create plants: an index with every created plant would
-- take a fifth of the time of a create.
CREATE TABLE change_plants (
  plant bigint NOT NULL,
  number bigint NOT NULL,
  xid xid8 NOT NULL,
  -- plants.created_by at the time of the change.
  created_by xid8,
  PRIMARY KEY (plant, number)
);

-- Snapshots in the order of time. A reader gets what is visible in a tick and not in the one before, by number.
CREATE TABLE change_ticks (
  -- Without gaps.
  tick bigint PRIMARY KEY,
  -- A random number, which tells this tick from one that another past of the database had.
  mark integer NOT NULL,
  made_at timestamptz NOT NULL,
  -- Changes, and their bytes, from the beginning of the history on.
  entries bigint NOT NULL,
  bytes bigint NOT NULL,
  snapshot pg_snapshot NOT NULL
);
CREATE INDEX change_ticks_by_transaction ON change_ticks (pg_snapshot_xmax(snapshot), tick);

-- The identity of the history, and of the table in which it began; no row while the log is switched off.
CREATE TABLE change_history (
  identity text COLLATE "C" NOT NULL,
  origin text COLLATE "C" NOT NULL
);

-- The rows of the log that are visible in a snapshot and not in the one before, in any order.
CREATE FUNCTION changes_between(base pg_snapshot, later pg_snapshot) RETURNS SETOF changes
  LANGUAGE sql STABLE AS $function$
  SELECT * FROM changes
    WHERE (xid = ANY (ARRAY(SELECT pg_snapshot_xip(base)))
        OR xid >= pg_snapshot_xmax(base) AND xid < pg_snapshot_xmax(later))
      AND pg_visible_in_snapshot(xid, later) AND NOT pg_visible_in_snapshot(xid, base)
$function$;

-- Makes a tick if changes are visible that the last one does not have. Returns the last tick, which then has exactly the
-- changes of the snapshot; NULL if the last one is younger than `rest`, or than the snapshot that is given.
CREATE FUNCTION tick_changes(rest interval, given pg_snapshot) RETURNS bigint
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
      IF clock_timestamp() < last.made_at + rest THEN
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
