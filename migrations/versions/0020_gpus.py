"""add what is known of a GPU, the memory that was free at a claim, and the hardware of a measurement"""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

_COLUMNS = {
    "devices": [
        ("uuid", sa.String(96)),
        ("driver", sa.String(64)),
        ("capability", sa.String(8)),
        ("health", sa.JSON),
        ("qualification", sa.JSON),
        ("qualify_since", sa.DateTime(timezone=True)),
    ],
    "attempts": [("free_bytes", sa.BigInteger), ("versions", sa.JSON)],
    "measurements": [("hardware", sa.String(64))],
}


def upgrade() -> None:
    for table, columns in _COLUMNS.items():
        for name, kind in columns:
            op.add_column(table, sa.Column(name, kind, nullable=True))


def downgrade() -> None:
    for table, columns in _COLUMNS.items():
        for name, _ in reversed(columns):
            op.drop_column(table, name)
