"""let SQLite find one or two characters of a name without reading all names"""

from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

_OLD, _NEW = "old.name || char(3, 3)", "new.name || char(3, 3)"
_INSERT = f"INSERT INTO job_names(rowid, name) VALUES (new.id, {_NEW});"
_DELETE = f"INSERT INTO job_names(job_names, rowid, name) VALUES ('delete', old.id, {_OLD});"

# All parts of three characters are stored. With two more characters after the name, each shorter part is the beginning
# of one of them. A migration that copies the table of jobs must create these triggers again.
_NAMES = (
    "CREATE VIRTUAL TABLE job_names USING fts5(name, content='', tokenize='trigram')",
    "CREATE VIRTUAL TABLE job_names_parts USING fts5vocab('job_names', 'instance')",
    "INSERT INTO job_names(rowid, name) SELECT id, name || char(3, 3) FROM jobs",
    f"CREATE TRIGGER job_names_insert AFTER INSERT ON jobs BEGIN {_INSERT} END",
    f"CREATE TRIGGER job_names_delete AFTER DELETE ON jobs BEGIN {_DELETE} END",
    f"CREATE TRIGGER job_names_update AFTER UPDATE OF name ON jobs BEGIN {_DELETE} {_INSERT} END",
)
_NAMES_BEFORE = (
    "CREATE VIRTUAL TABLE job_names USING fts5(name, content='jobs', content_rowid='id', tokenize='trigram')",
    "INSERT INTO job_names(job_names) VALUES ('rebuild')",
    "CREATE TRIGGER job_names_insert AFTER INSERT ON jobs BEGIN "
    "INSERT INTO job_names(rowid, name) VALUES (new.id, new.name); END",
    "CREATE TRIGGER job_names_delete AFTER DELETE ON jobs BEGIN "
    "INSERT INTO job_names(job_names, rowid, name) VALUES ('delete', old.id, old.name); END",
    "CREATE TRIGGER job_names_update AFTER UPDATE OF name ON jobs BEGIN "
    "INSERT INTO job_names(job_names, rowid, name) VALUES ('delete', old.id, old.name); "
    "INSERT INTO job_names(rowid, name) VALUES (new.id, new.name); END",
)


def upgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        _drop_names()
        for statement in _NAMES:
            op.execute(statement)


def downgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        op.drop_table("job_names_parts")
        _drop_names()
        for statement in _NAMES_BEFORE:
            op.execute(statement)


def _drop_names() -> None:
    for event in ("insert", "delete", "update"):
        op.execute(f"DROP TRIGGER job_names_{event}")
    op.drop_table("job_names")
