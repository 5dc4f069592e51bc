"""Names by a part of them: SQL. PostgreSQL has an index of all names' letters, SQLite a table (migration 0013)."""

from sqlalchemy import ColumnElement, column, func, select, table
from sqlalchemy.orm import Session

from services.store.models import Job

__all__ = ["has"]

_IN_A_ROW = 3  # letters


def has(session: Session, text: str) -> ColumnElement[bool]:
    """Does the job's name have `text` in it, in any case? Meant for what few have: all that do are looked at."""
    exactly = Job.name.icontains(text, autoescape=True)
    if session.get_bind().dialect.name == "postgresql":
        shortest = min(len(text), _IN_A_ROW)
        letters = func.downshift_grams(Job.name, 1).op("@>")(func.downshift_grams(text, shortest))
        # By itself the server expects too few to have all of several letters, or too many, and reads the whole table.
        known = select(Job.id).where(letters).cte("known").prefix_with("MATERIALIZED")
        return exactly & Job.id.in_(select(known.c.id))
    if len(text) < _IN_A_ROW:  # then it begins some of the parts that are kept
        part = table("job_names_parts", column("term"), column("doc"))
        small = text.lower()
        return exactly & Job.id.in_(select(part.c.doc).where(part.c.term >= small, part.c.term < small + chr(0x10FFFF)))
    quoted = '"' + text.replace('"', '""') + '"'
    letters_of = table("job_names", column("rowid"), column("job_names"))
    return exactly & Job.id.in_(select(letters_of.c.rowid).where(letters_of.c.job_names.op("MATCH")(quoted)))
