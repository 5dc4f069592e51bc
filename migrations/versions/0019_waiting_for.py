"""what a queued job waits for is data, no longer a sentence in `reason`"""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

_jobs = sa.table("jobs", sa.column("state", sa.String), sa.column("reason", sa.Text), sa.column("waiting_for", sa.JSON))


def upgrade() -> None:
    op.add_column("jobs", sa.Column("waiting_for", sa.JSON, nullable=True))
    # The old sentence is shown until a worker next tries to start the job.
    queued = sa.and_(_jobs.c.state == "queued", _jobs.c.reason.is_not(None))
    connection = op.get_bind()
    for (reason,) in connection.execute(sa.select(_jobs.c.reason).where(queued).distinct()).all():
        waiting = {"kind": "free_device", "detail": reason}
        connection.execute(
            sa.update(_jobs).where(queued, _jobs.c.reason == reason).values(waiting_for=waiting, reason=None)
        )
    op.drop_index("ix_jobs_with_reason", "jobs")
    waits = sa.text("waiting_for IS NOT NULL")
    op.create_index("ix_jobs_waiting_for", "jobs", ["state", "id"], postgresql_where=waits, sqlite_where=waits)


def downgrade() -> None:
    op.execute("UPDATE jobs SET reason = 'Waits for a device' WHERE state = 'queued' AND waiting_for IS NOT NULL")
    op.drop_index("ix_jobs_waiting_for", "jobs")
    op.drop_column("jobs", "waiting_for")
    has_reason = sa.text("reason IS NOT NULL")
    op.create_index(
        "ix_jobs_with_reason", "jobs", ["state", "id"], postgresql_where=has_reason, sqlite_where=has_reason
    )
