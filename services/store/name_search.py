"""SQL that searches jobs by a part of their name, through parts of one to three characters.

PostgreSQL has an index of these parts, SQLite a table (migrations 0012 and 0013).
"""

from sqlalchemy import ColumnElement, column, func, select, table
from sqlalchemy.orm import Session

from services.store.dialect import is_postgresql
from services.store.models import Job

__all__ = ["has"]

_TRIGRAM = 3  # characters


def has(session: Session, text: str) -> ColumnElement[bool]:
    """Does the job's name contain `text`, ignoring case? Reads every job that matches, so it suits rare texts."""
    exactly = Job.name.icontains(text, autoescape=True)
    if is_postgresql(session):
        shortest = min(len(text), _TRIGRAM)
        has_grams = func.downshift_grams(Job.name, 1).op("@>")(func.downshift_grams(text, shortest))
        # Materialized: the server misjudges how many rows match several grams, and would read the whole table.
        candidates = select(Job.id).where(has_grams).cte("known").prefix_with("MATERIALIZED")
        return exactly & Job.id.in_(select(candidates.c.id))
    if len(text) < _TRIGRAM:  # it is the beginning of some stored trigrams
        part = table("job_names_parts", column("term"), column("doc"))
        lower = text.lower()
        return exactly & Job.id.in_(select(part.c.doc).where(part.c.term >= lower, part.c.term < lower + chr(0x10FFFF)))
    quoted = '"' + text.replace('"', '""') + '"'
    trigrams = table("job_names", column("rowid"), column("job_names"))
    return exactly & Job.id.in_(select(trigrams.c.rowid).where(trigrams.c.job_names.op("MATCH")(quoted)))
