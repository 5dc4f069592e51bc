"""add the evidence for the diagnosis of an attempt"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Not in batch mode, which drops the old table: rows of other tables refer to its rows.
    op.add_column("attempts", sa.Column("finding", sa.JSON(), nullable=True))


def downgrade() -> None:
    op.drop_column("attempts", "finding")
