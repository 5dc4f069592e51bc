"""add an index of jobs with a reason, for the order of the queue"""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    has_reason = sa.text("reason IS NOT NULL")
    op.create_index(
        "ix_jobs_with_reason",
        "jobs",
        ["state", "id"],
        postgresql_where=has_reason,
        sqlite_where=has_reason,
    )


def downgrade() -> None:
    op.drop_index("ix_jobs_with_reason", "jobs")
