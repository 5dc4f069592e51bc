"""the best checkpoint of a job, what was exported, and why it stopped early"""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("jobs", sa.Column("results", sa.JSON(), nullable=True))


def downgrade() -> None:
    op.drop_column("jobs", "results")
