"""A witness inside PostgreSQL: notes every end of a turn and of a curation, and every writing of a fact's value, with
the transaction that does it. What the services believe to have done does not matter to it."""

from typing import Any

import asyncpg

_WITNESS = """
CREATE TABLE storm_audit (what text NOT NULL, subject text NOT NULL);
CREATE FUNCTION storm_note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public AS $$
BEGIN
    IF TG_TABLE_NAME = 'turns' THEN
        IF OLD.status IN ('accepted', 'running') AND NEW.status NOT IN ('accepted', 'running') THEN
            INSERT INTO storm_audit VALUES ('finish', NEW.turn_id::text);
        END IF;
    ELSIF TG_TABLE_NAME = 'dispatch' THEN
        IF NEW.kind = 'curate_turn' AND NEW.state = 'done' AND OLD.state <> 'done' THEN
            INSERT INTO storm_audit VALUES ('curation', NEW.subject_id::text);
        END IF;
    ELSE
        INSERT INTO storm_audit VALUES ('fact', NEW.user_id || '/' || NEW.fact_key);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER storm_turns AFTER UPDATE OF status ON turns FOR EACH ROW EXECUTE FUNCTION storm_note();
CREATE TRIGGER storm_dispatch AFTER UPDATE OF state ON dispatch FOR EACH ROW EXECUTE FUNCTION storm_note();
CREATE TRIGGER storm_facts AFTER INSERT OR UPDATE OF value ON memory_facts FOR EACH ROW EXECUTE FUNCTION storm_note();
"""


async def install_witness(admin_url: str) -> None:
    connection = await asyncpg.connect(admin_url)
    try:
        await connection.execute(_WITNESS)
    finally:
        await connection.close()


async def noted_twice(connection: Any, what: str, beginning: str = "%") -> int:
    """Subjects of which more than one was noted."""
    rows = await connection.fetch(
        "SELECT subject FROM storm_audit WHERE what = $1 AND subject LIKE $2 GROUP BY subject HAVING count(*) > 1",
        what,
        beginning,
    )
    return len(rows)
