"""The memory service: the only process with credentials for PostgreSQL, the only writer of facts."""
