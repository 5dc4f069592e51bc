"""add indexes of the audit by kind and user, and of deliveries by age"""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("audit", sa.Column("kind", sa.String(64), nullable=False, server_default=sa.text("''")))
    is_postgresql = op.get_bind().dialect.name == "postgresql"
    noun = "split_part(action, '.', 1)" if is_postgresql else "substr(action, 1, instr(action || '.', '.') - 1)"
    op.execute(f"UPDATE audit SET kind = {noun}")
    op.create_index("ix_audit_kind_id", "audit", ["kind", "id"])
    op.create_index("ix_audit_user_id_id", "audit", ["user_id", "id"])
    op.create_index("ix_deliveries_created_at", "deliveries", ["created_at"])


def downgrade() -> None:
    op.drop_index("ix_deliveries_created_at", "deliveries")
    op.drop_index("ix_audit_user_id_id", "audit")
    op.drop_index("ix_audit_kind_id", "audit")
    op.drop_column("audit", "kind")
