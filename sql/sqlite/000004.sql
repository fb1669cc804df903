-- A revoked token stays listed, and with it that the store had a token once; NULL while it is good.
ALTER TABLE tokens ADD COLUMN revoked_at INTEGER;
