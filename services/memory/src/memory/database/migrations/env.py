"""Alembic's entry: runs on the connection that `memory.database.migrate` hands over."""

from alembic import context

from memory.database.schema import metadata, operating

context.configure(connection=context.config.attributes["connection"], target_metadata=[metadata, operating])
with context.begin_transaction():
    context.run_migrations()
