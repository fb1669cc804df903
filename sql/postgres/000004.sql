-- A page of tokens, oldest first; and the tokens that are active, to count them.
CREATE INDEX tokens_by_creation ON tokens (created_at, id);
CREATE INDEX tokens_not_revoked ON tokens (expires_at) WHERE revoked_at IS NULL;
