"""the share of a step that waits for images, and the cores that decode them"""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("attempts", sa.Column("input_wait", sa.Float(), nullable=True))
    op.add_column("attempts", sa.Column("host_cores", sa.Integer(), nullable=True))
    op.add_column("attempts", sa.Column("host_devices", sa.Integer(), nullable=True))


def downgrade() -> None:
    for name in ("host_devices", "host_cores", "input_wait"):
        op.drop_column("attempts", name)
