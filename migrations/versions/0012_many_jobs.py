"""prepare for a million jobs: blocks of metrics, parts of names, and indexes for lists and counts"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_WIDTHS = (4, 16, 64, 256, 1024, 4096)
_BLOCKS = "metric_blocks (job_id, width, name, attempt, number, first_step, last_step, count, total, low, high)"

# All parts of one, two or three characters, so that a search by a part of a name need not read all names.
_GRAMS = """
CREATE FUNCTION downshift_grams(name text, shortest integer) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    small text := lower(name);
    found text[] := '{}';
BEGIN
    FOR size IN shortest..3 LOOP
        FOR start IN 1..length(small) - size + 1 LOOP
            found := found || substr(small, start, size);
        END LOOP;
    END LOOP;
    RETURN found;
END
$$
"""
# SQLite's own trigram index does the same. A migration that copies the table of jobs must create the triggers again.
_NAMES = (
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
    _make_blocks()
    if op.get_bind().dialect.name == "postgresql":
        op.execute(_GRAMS)
        op.execute(
            "CREATE INDEX ix_jobs_name_grams ON jobs USING gin (downshift_grams(name, 1)) WITH (fastupdate = off)"
        )
    else:
        for statement in _NAMES:
            op.execute(statement)
    op.create_index("ix_jobs_state_id", "jobs", ["state", "id"])
    op.create_index("ix_jobs_owner_id_state_id", "jobs", ["owner_id", "state", "id"])
    op.create_index("ix_jobs_finished_at_state", "jobs", ["finished_at", "state"])
    op.create_index("ix_attempts_ended_at_diagnosis", "attempts", ["ended_at", "diagnosis"])
    op.create_index("ix_measurements_model_id", "measurements", ["model", "id"])
    op.create_index("ix_measurements_model_host_peak_bytes", "measurements", ["model", "host_peak_bytes"])
    op.drop_index("ix_jobs_state_priority_id", "jobs")
    op.drop_index("ix_attempts_diagnosis", "attempts")
    op.drop_index("ix_measurements_model_precision", "measurements")


def _make_blocks() -> None:
    op.create_table(
        "metric_blocks",
        sa.Column("job_id", _ID, nullable=False),
        sa.Column("width", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(96), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("first_step", sa.BigInteger(), nullable=False),
        sa.Column("last_step", sa.BigInteger(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("total", sa.Float(), nullable=False),
        sa.Column("low", sa.Float(), nullable=False),
        sa.Column("high", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_metric_blocks_job_id"),
        sa.PrimaryKeyConstraint("job_id", "width", "name", "attempt", "number", name="pk_metric_blocks"),
        sqlite_with_rowid=False,
    )
    total = "sum(CASE WHEN abs(value) < 1e290 THEN value ELSE 0 END)"
    for width in _WIDTHS:
        op.execute(
            f"INSERT INTO {_BLOCKS} SELECT job_id, {width}, name, attempt, step / {width}, min(step), max(step), "
            f"count(*), {total}, min(value), max(value) FROM metrics GROUP BY job_id, name, attempt, step / {width}"
        )


def downgrade() -> None:
    op.create_index("ix_measurements_model_precision", "measurements", ["model", "precision"])
    op.create_index("ix_attempts_diagnosis", "attempts", ["diagnosis"])
    op.create_index("ix_jobs_state_priority_id", "jobs", ["state", "priority", "id"])
    op.drop_index("ix_measurements_model_host_peak_bytes", "measurements")
    op.drop_index("ix_measurements_model_id", "measurements")
    op.drop_index("ix_attempts_ended_at_diagnosis", "attempts")
    op.drop_index("ix_jobs_finished_at_state", "jobs")
    op.drop_index("ix_jobs_owner_id_state_id", "jobs")
    op.drop_index("ix_jobs_state_id", "jobs")
    if op.get_bind().dialect.name == "postgresql":
        op.drop_index("ix_jobs_name_grams", "jobs")
        op.execute("DROP FUNCTION downshift_grams")
    else:
        for event in ("insert", "delete", "update"):
            op.execute(f"DROP TRIGGER job_names_{event}")
        op.drop_table("job_names")
    op.drop_table("metric_blocks")
