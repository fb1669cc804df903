-- The action of a row of changes, whose changes then all belong to it; NULL for changes on their own.
ALTER TABLE changes ADD COLUMN action text COLLATE "C";

-- What was done together, such as an import.
CREATE TABLE actions (
  id text COLLATE "C" PRIMARY KEY,
  -- The access token that uses the id.
  token text COLLATE "C" NOT NULL,
  title text COLLATE "C",
  -- Milliseconds since 1970-01-01T00:00Z.
  began bigint NOT NULL DEFAULT (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
  -- The id of the action that this one undoes, and the number of the last row that it has gone back to.
  undoes text COLLATE "C",
  undone_to bigint,
  -- Whether the log has let go a change of this action.
  is_partial boolean NOT NULL DEFAULT false
);
CREATE INDEX actions_by_time ON actions (began, id);
CREATE INDEX actions_by_token ON actions (token, began, id);
CREATE INDEX actions_by_undone ON actions (undoes, began) WHERE undoes IS NOT NULL;

-- The rows of changes that belong to an action, with their numbers of changes. No write adds them up, so that no two
-- writes of an action wait for each other (000005.sql).
CREATE TABLE action_rows (
  action text COLLATE "C" NOT NULL,
  number bigint NOT NULL,
  xid xid8 NOT NULL,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  created integer NOT NULL,
  updated integer NOT NULL,
  deleted integer NOT NULL,
  PRIMARY KEY (action, number)
);
