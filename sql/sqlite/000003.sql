-- What was done together, such as an import. A change without an action has no row here.
CREATE TABLE actions (
  number INTEGER NOT NULL PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  -- The access token that uses the id.
  token TEXT NOT NULL,
  title TEXT,
  -- Of the first and the last change, in milliseconds since 1970-01-01T00:00Z.
  began INTEGER NOT NULL,
  ended INTEGER NOT NULL,
  -- Changes of each kind.
  created INTEGER NOT NULL,
  updated INTEGER NOT NULL,
  deleted INTEGER NOT NULL,
  -- The positions of the first and the last row of changes.
  first_position INTEGER NOT NULL,
  last_position INTEGER NOT NULL,
  -- The id of the action that this one undoes.
  undoes TEXT,
  -- Of such an action: the position of the last row that it has gone back to.
  undone_to INTEGER
) STRICT;
CREATE INDEX actions_by_time ON actions (began, id);
CREATE INDEX actions_by_token ON actions (token, began, id);
CREATE INDEX actions_by_end ON actions (last_position);
CREATE INDEX actions_by_undone ON actions (undoes, number) WHERE undoes IS NOT NULL;

-- The rows of changes that belong to an action.
CREATE TABLE action_rows (
  position INTEGER NOT NULL PRIMARY KEY,
  action INTEGER NOT NULL
) STRICT;
CREATE INDEX action_rows_by_action ON action_rows (action, position);
