-- Ranges of ids that were handed out, for plants that are entered later. The key is the SHA-256 over the actor and the key
-- of the request: a retry gets the same range. It is NULL without a key.
CREATE TABLE id_reservations (
  first_id bigint PRIMARY KEY,
  last_id bigint NOT NULL CHECK (last_id >= first_id),
  key bytea UNIQUE,
  at bigint NOT NULL,
  actor text COLLATE "C" NOT NULL
);
