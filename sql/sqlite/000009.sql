-- Webhooks, as JSON. `version` grows with each change by a client. The secrets are in clear, because they sign.
CREATE TABLE webhooks (
  id TEXT PRIMARY KEY NOT NULL,
  creator TEXT NOT NULL,
  version INTEGER NOT NULL,
  definition TEXT NOT NULL,
  progress TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The last attempts of each webhook, as JSON.
CREATE TABLE webhook_attempts (
  webhook TEXT NOT NULL,
  number INTEGER NOT NULL,
  attempt TEXT NOT NULL,
  PRIMARY KEY (webhook, number)
) STRICT, WITHOUT ROWID;
