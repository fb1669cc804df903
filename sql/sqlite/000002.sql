-- Times of a clock that no step of the wall clock moves (src/records/steady-clock.ts), in milliseconds.
CREATE TABLE steady_times (
  time INTEGER NOT NULL PRIMARY KEY,
  -- The wall clock at that time, in milliseconds since 1970-01-01T00:00Z.
  wall INTEGER NOT NULL,
  -- The newest position of the log of changes at that time.
  newest INTEGER NOT NULL
) STRICT;
