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
