"""what the diagnosis of an attempt rests on"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Not in batch mode: a copied table would first be dropped, and rows of others point to its rows.
    op.add_column("attempts", sa.Column("finding", sa.JSON(), nullable=True))


def downgrade() -> None:
    op.drop_column("attempts", "finding")
