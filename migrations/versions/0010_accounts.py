"""add accounts: passwords, sessions, limits, and the device time of each user"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0003"
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    # Not in batch mode, which drops the old table: rows of other tables refer to its rows.
    op.add_column("users", sa.Column("password", sa.Text(), nullable=True))
    op.add_column("users", sa.Column("disabled_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("users", sa.Column("max_queued", sa.Integer(), nullable=True))
    op.add_column("users", sa.Column("max_running", sa.Integer(), nullable=True))
    op.add_column("users", sa.Column("device_hours_week", sa.Float(), nullable=True))
    op.add_column("users", sa.Column("version", sa.Integer(), server_default="1", nullable=False))
    op.create_table(
        "sessions",
        sa.Column("id", _ID, nullable=False),
        sa.Column("user_id", _ID, nullable=False),
        sa.Column("token_id", _ID, nullable=True),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("user_agent", sa.String(length=256), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["token_id"], ["tokens.id"], name=op.f("fk_sessions_token_id")),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_sessions_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sessions")),
        sa.UniqueConstraint("digest", name=op.f("uq_sessions_digest")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_sessions_user_id"), "sessions", ["user_id"], unique=False)
    op.create_table(
        "device_use",
        sa.Column("user_id", _ID, nullable=False),
        sa.Column("day", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_device_use_user_id")),
        sa.PrimaryKeyConstraint("user_id", "day", name=op.f("pk_device_use")),
    )
    op.create_index(op.f("ix_device_use_day"), "device_use", ["day"], unique=False)
    op.create_index(
        "ix_jobs_state_owner_id_priority_id_not_before",
        "jobs",
        ["state", "owner_id", "priority", "id", "not_before"],
        unique=False,
    )


def downgrade() -> None:
    op.drop_index("ix_jobs_state_owner_id_priority_id_not_before", table_name="jobs")
    op.drop_index(op.f("ix_device_use_day"), table_name="device_use")
    op.drop_table("device_use")
    op.drop_index(op.f("ix_sessions_user_id"), table_name="sessions")
    op.drop_table("sessions")
    for name in ("version", "device_hours_week", "max_running", "max_queued", "disabled_at", "password"):
        op.drop_column("users", name)
