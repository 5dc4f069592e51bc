"""mark the newest measurements of each plan as in use, so that a query reads few of many"""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

_OF_ONE_PLAN = 8
_PLAN = (
    "model, precision, micro_batch, accumulation, height, width, proposals, second_stage_batch, device_kind, software, "
    "complete"
)


def upgrade() -> None:
    op.add_column("measurements", sa.Column("superseded_at", sa.DateTime(timezone=True), nullable=True))
    op.execute(
        "UPDATE measurements SET superseded_at = created_at WHERE id IN (SELECT id FROM (SELECT id, row_number() "
        f"OVER (PARTITION BY {_PLAN} ORDER BY id DESC) AS age FROM measurements) AS aged WHERE age > {_OF_ONE_PLAN})"
    )
    in_use = sa.text("superseded_at IS NULL")
    op.create_index(
        "ix_measurements_in_use",
        "measurements",
        ["model", "id"],
        postgresql_where=in_use,
        sqlite_where=in_use,
    )
    op.drop_index("ix_measurements_model_id", "measurements")


def downgrade() -> None:
    op.create_index("ix_measurements_model_id", "measurements", ["model", "id"])
    op.drop_index("ix_measurements_in_use", "measurements")
    op.drop_column("measurements", "superseded_at")
