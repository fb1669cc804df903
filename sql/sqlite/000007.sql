-- The keys of requests that reserved ids, oldest first: each is forgotten after a day, and its range joins its neighbours.
CREATE INDEX id_reservations_by_key_time ON id_reservations (at) WHERE key IS NOT NULL;
