"""add adjustments: remedies that change neither the model nor what a step computes"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

TABLES = ("jobs", "attempts")


def upgrade() -> None:
    # Not in batch mode, which drops the old table: rows of other tables refer to its rows.
    for table in TABLES:
        op.add_column(table, sa.Column("adjustments", sa.JSON(), nullable=True))


def downgrade() -> None:
    for table in reversed(TABLES):
        op.drop_column(table, "adjustments")
