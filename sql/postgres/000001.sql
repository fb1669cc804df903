-- Every text is compared by its bytes (collation "C"): exact, and the same whatever locale the database has.

-- Every plant. What searching and sorting need is folded by the program (src/domain/plant-query.ts) and kept beside the plant.
CREATE TABLE plants (
  id bigint PRIMARY KEY,
  name text COLLATE "C" NOT NULL,
  tag text COLLATE "C",
  -- The start of the folded name.
  sort_key text COLLATE "C" NOT NULL,
  -- The folded words of name and tag, cut to a length that an index takes; a search looks at the plant again.
  words tsvector NOT NULL,
  -- The transaction that created the plant: its rows of changes have the creation.
  created_by xid8
);
CREATE INDEX plants_by_name ON plants (sort_key, id);
CREATE INDEX plants_by_tag ON plants (tag, id) WHERE tag IS NOT NULL;
CREATE INDEX plants_by_tag_and_name ON plants (tag, sort_key, id) WHERE tag IS NOT NULL;
CREATE INDEX plants_without_tag ON plants (id) WHERE tag IS NULL;
CREATE INDEX plants_without_tag_by_name ON plants (sort_key, id) WHERE tag IS NULL;
-- The limit, in kB, is above what the program lets come together (src/postgres/table-upkeep.ts).
CREATE INDEX plants_by_word ON plants USING gin (words) WITH (gin_pending_list_limit = 16384);

-- Access tokens. Only the SHA-256 of a secret is kept. Times are milliseconds since 1970-01-01T00:00Z.
CREATE TABLE tokens (
  id text COLLATE "C" PRIMARY KEY,
  hash bytea NOT NULL UNIQUE,
  name text COLLATE "C" NOT NULL,
  scopes text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint,
  last_used_at bigint,
  -- A revoked token stays listed, and with it that the store had a token once; NULL while it is good.
  revoked_at bigint
);
-- A page of tokens, oldest first; and the tokens that are active, to count them.
CREATE INDEX tokens_by_creation ON tokens (created_at, id);
CREATE INDEX tokens_not_revoked ON tokens (expires_at) WHERE revoked_at IS NULL;

-- One row that the readiness check updates, to learn whether the store takes a write.
CREATE TABLE write_check (
  id integer PRIMARY KEY CHECK (id = 1),
  checked_at bigint NOT NULL
);
INSERT INTO write_check (id, checked_at) VALUES (1, 0);

-- How many plants have each tag, or none (NULL): sums, and the changes since. A statement that writes plants appends what
-- it changes, so that no two of them wait for each other; the service adds the changes up (src/postgres/table-upkeep.ts).
CREATE TABLE tag_counts (tag text COLLATE "C", plants bigint NOT NULL);
CREATE TABLE tag_changes (tag text COLLATE "C", plants bigint NOT NULL);
CREATE FUNCTION count_tags() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $function$
  BEGIN
    IF TG_OP = 'INSERT' THEN
      INSERT INTO tag_changes SELECT tag, count(*) FROM added GROUP BY tag;
    ELSIF TG_OP = 'DELETE' THEN
      INSERT INTO tag_changes SELECT tag, -count(*) FROM removed GROUP BY tag;
    ELSIF TG_OP = 'UPDATE' THEN
      INSERT INTO tag_changes SELECT tag, sum(change)
        FROM (SELECT tag, 1 AS change FROM added UNION ALL SELECT tag, -1 FROM removed) AS changed
        GROUP BY tag HAVING sum(change) <> 0;
    ELSE
      DELETE FROM tag_counts;
      DELETE FROM tag_changes;
    END IF;
    RETURN NULL;
  END
$function$;
CREATE TRIGGER plants_added AFTER INSERT ON plants
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_tags();
CREATE TRIGGER plants_removed AFTER DELETE ON plants
  REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION count_tags();
CREATE TRIGGER plants_changed AFTER UPDATE ON plants
  REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_tags();
CREATE TRIGGER plants_cleared AFTER TRUNCATE ON plants FOR EACH STATEMENT EXECUTE FUNCTION count_tags();
CREATE INDEX tag_counts_by_tag ON tag_counts (tag);

-- Ranges of ids that were handed out, for plants that are entered later. The key is the SHA-256 over the actor and the key
-- of the request: a retry gets the same range. It is NULL without a key.
CREATE TABLE id_reservations (
  first_id bigint PRIMARY KEY,
  last_id bigint NOT NULL CHECK (last_id >= first_id),
  key bytea UNIQUE,
  at bigint NOT NULL,
  actor text COLLATE "C" NOT NULL
);
-- The keys of requests that reserved ids, oldest first: each is forgotten after a day, and its range joins its neighbours.
CREATE INDEX id_reservations_by_key_time ON id_reservations (at) WHERE key IS NOT NULL;

-- The log of changes. A statement that writes plants writes all of their changes as one row. Its number comes after the
-- locks of its plants, so that the numbers of one plant's changes are in the order of their commits.
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

-- Webhooks, as JSON. `version` grows with each change by a client. The secrets are in clear, because they sign. Until
-- `leased_until` (milliseconds of the server's clock since 1970), only the instance `holder` delivers.
CREATE TABLE webhooks (
  id text COLLATE "C" PRIMARY KEY,
  creator text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  definition text NOT NULL,
  progress text NOT NULL,
  holder text,
  leased_until bigint NOT NULL
);

-- The last attempts of each webhook, as JSON.
CREATE TABLE webhook_attempts (
  webhook text COLLATE "C" NOT NULL,
  number bigint NOT NULL,
  attempt text NOT NULL,
  PRIMARY KEY (webhook, number)
);
