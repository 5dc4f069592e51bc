"""What clients send. Shape and size are checked here; whether it can be done, the use case says."""

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from api.schemas import patterns
from services.domain.plan.policy import MAX_ATTEMPTS
from services.users import passwords

__all__ = [
    "CloneBody",
    "EditBody",
    "LoginBody",
    "OwnPasswordBody",
    "SubmitBody",
    "TokenBody",
    "UserBody",
    "UserChangeBody",
    "WebhookBody",
    "WebhookEditBody",
]

_COUNT = 2**31 - 1
_PRIORITY = "higher goes first; only admins can go above 0"

Text = Annotated[str, StringConstraints(max_length=10_000, pattern=patterns.NO_NUL)]
Line = Annotated[str, StringConstraints(min_length=1, max_length=128, pattern=patterns.ONE_LINE)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=patterns.NAME)]
ConfigText = Annotated[str, StringConstraints(min_length=1, max_length=256 * 1024, pattern=patterns.NO_NUL)]
Url = Annotated[str, StringConstraints(min_length=8, max_length=2048, pattern=patterns.URL)]
MessageKind = Literal["job.succeeded", "job.failed", "job.replanned"]


def _each_once(words: list[str]) -> list[str]:
    if len(set(words)) < len(words):
        raise ValueError("each at most once")
    return words


MessageKinds = Annotated[
    list[MessageKind],
    Field(min_length=1, max_length=3, json_schema_extra={"uniqueItems": True}),
    AfterValidator(_each_once),
]
Password = Annotated[str, StringConstraints(min_length=passwords.SHORTEST, max_length=passwords.LONGEST)]
Secret = Annotated[str, StringConstraints(min_length=1, max_length=1000)]
Lever = Literal["micro_batch", "precision", "proposals", "image_size", "backbone", "batch_size"]


class Body(BaseModel):
    """Strict: "5" is not 5, and a field that nobody knows is a mistake rather than a wish."""

    model_config = ConfigDict(extra="forbid", strict=True)

    def as_request(self) -> dict[str, Any]:
        """What was sent, and nothing that was not."""
        return self.model_dump(mode="json", exclude_unset=True)


class TrainBody(Body):
    steps: Annotated[int, Field(ge=1, le=_COUNT)] | None = Field(
        default=None,
        description="default: as many as it takes to see 100 epochs of the dataset, but at least 8,000 images and "
        "at most those that the model's own length sees (steps times batch size in /v1/models)",
        examples=[2000],
    )
    epochs: Annotated[float, Field(gt=0, le=1_000_000, allow_inf_nan=False)] | None = Field(
        default=None,
        description="instead of steps: how often each training image is seen; converted to steps by the batch size",
        examples=[None],
    )
    batch_size: Annotated[int, Field(ge=1, le=65_536)] | None = Field(default=None, examples=[8])
    learning_rate: Annotated[float, Field(gt=0, le=1000, allow_inf_nan=False)] | None = Field(
        default=None, examples=[0.01]
    )
    evaluations: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        default=None,
        description="number of evaluations, the last one at the end; default: up to ten, at least 200 steps apart",
        examples=[10],
    )

    @model_validator(mode="after")
    def _has_one_length(self) -> Self:
        if self.steps is not None and self.epochs is not None:
            raise ValueError("send steps or epochs, not both")
        return self


class PolicyBody(Body):
    """How the job may be made to need less memory. What is left out keeps its default."""

    levers: Annotated[list[Lever], Field(max_length=6, json_schema_extra={"uniqueItems": True})] = Field(
        default=["micro_batch", "precision", "proposals", "image_size", "backbone", "batch_size"],
        description="allowed changes, tried in this order",
    )
    min_batch_size: int = Field(default=1, ge=1, le=_COUNT)
    min_image_size: int = Field(default=256, ge=1, le=_COUNT, description="of the shorter side")
    min_backbone: Annotated[str, StringConstraints(max_length=64, pattern=patterns.NO_NUL)] | None = Field(
        default=None, description="the smallest backbone or model allowed", examples=[None]
    )
    max_attempts: int = Field(default=6, ge=1, le=MAX_ATTEMPTS)
    prefer: Literal["shrink", "wait"] = Field(
        default="shrink", description="wait: for a large enough device; shrink: reduce the job"
    )
    plan_ahead: bool = Field(default=True, description="false: start exactly as asked, whatever is predicted")


class DeviceBody(Body):
    min_memory_mb: int = Field(default=0, ge=0, le=2**24, description="memory that the job's device must have")
    wait: bool = Field(
        default=False,
        description="true: accept the job even if no known device can hold it, and wait for one",
    )


class JobFields(Body):
    name: Line | None = Field(default=None, examples=["my first job"])
    notes: Text | None = Field(default=None, examples=["for the meeting on Friday"])
    model: Name | None = Field(default=None, examples=["efficientdet_d0"])
    train: TrainBody | None = None
    image_size: Annotated[list[Annotated[int, Field(ge=1, le=16_384)]], Field(min_length=2, max_length=2)] | None = (
        Field(default=None, description="height, width", examples=[[512, 512]])
    )
    checkpoint: Name | None = Field(
        default=None,
        description="the weights to start from: a name of GET /v1/checkpoints. Null or left out: random weights, "
        "but it must be sent if the `pipeline_config` names a fine_tune_checkpoint",
        examples=[None],
    )
    pipeline_config: ConfigText | None = Field(
        default=None,
        description="a complete pipeline.config of your own, instead of a model; every change to it is listed in "
        "`config_changes` with its reason (docs/pipeline-config.md)",
        examples=[None],
    )
    policy: PolicyBody | None = None
    priority: int = Field(default=0, ge=-100, le=100, description=_PRIORITY)
    device: DeviceBody | None = None


class SubmitBody(JobFields):
    """A job. Everything but `dataset` and `model` may be left out; `model` too, where there is a `pipeline_config`."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra={
            "anyOf": [
                {"required": ["model"], "properties": {"model": {"type": "string"}}},
                {"required": ["pipeline_config"], "properties": {"pipeline_config": {"type": "string"}}},
            ],
            "examples": [
                {"dataset": "shapes", "model": "efficientdet_d0"},
                {
                    "name": "my first job",
                    "dataset": "shapes",
                    "model": "efficientdet_d0",
                    "train": {"steps": 200, "batch_size": 8},
                    "image_size": [256, 256],
                    "policy": {"min_batch_size": 4, "max_attempts": 4},
                },
            ],
        },
    )

    dataset: Name = Field(examples=["shapes"])

    @model_validator(mode="after")
    def _names_a_model(self) -> Self:
        if self.model is None and self.pipeline_config is None:
            raise ValueError("model is missing: name one of GET /v1/models, or send a pipeline_config")
        return self


def _without_default(schema: dict[str, Any]) -> None:
    schema.pop("default", None)


class CloneBody(JobFields):
    """What the copy has otherwise. What is left out stays as it is."""

    dataset: Name = Field(default="", examples=["shapes"], json_schema_extra=_without_default)


class EditBody(Body):
    """What may be changed after submitting; at least one of them."""

    model_config = ConfigDict(extra="forbid", strict=True, json_schema_extra={"minProperties": 1})

    name: Line = Field(default="", examples=["cones, second try"], json_schema_extra=_without_default)
    notes: Text = Field(default="", examples=["for the meeting on Friday"], json_schema_extra=_without_default)
    priority: int = Field(
        default=0, ge=-100, le=100, description=_PRIORITY, examples=[-5], json_schema_extra=_without_default
    )

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if not self.model_fields_set:
            raise ValueError("nothing to change: send name, notes or priority")
        return self


class TokenBody(Body):
    name: Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=patterns.ONE_LINE)] = Field(
        description="a name to recognise it by", examples=["laptop"]
    )
    scopes: Annotated[
        list[Literal["read", "submit", "admin"]],
        Field(min_length=1, max_length=3, json_schema_extra={"uniqueItems": True}),
        AfterValidator(_each_once),
    ] = Field(default=["read"], description="each scope includes the ones before it", examples=[["read", "submit"]])
    expires_in_days: Annotated[int, Field(ge=1, le=3650)] | None = Field(default=None, examples=[90])
    user: Line | None = Field(
        default=None, description="the token's owner; only admins can name other users", examples=[None]
    )


class LoginBody(Body):
    """Either `user` and `password`, or a `token`."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra={
            "oneOf": [
                {
                    "required": ["user", "password"],
                    "properties": {"user": {"type": "string"}, "password": {"type": "string"}, "token": False},
                },
                {"required": ["token"], "properties": {"token": {"type": "string"}, "user": False, "password": False}},
            ],
            "examples": [{"user": "anna", "password": "correct horse battery staple"}],
        },
    )

    user: Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=patterns.NO_NUL)] = Field(
        default="", json_schema_extra=_without_default
    )
    password: Secret = Field(default="", json_schema_extra=_without_default)
    token: Secret = Field(default="", json_schema_extra=_without_default)

    @model_validator(mode="after")
    def _is_one_of_two(self) -> Self:
        if self.model_fields_set not in ({"user", "password"}, {"token"}):
            raise ValueError("send user and password, or a token alone")
        return self


class LimitsBody(Body):
    """What is left out stays as it is; null: the service's default."""

    max_queued: Annotated[int, Field(ge=0, le=_COUNT)] | None = Field(default=None, examples=[20])
    max_running: Annotated[int, Field(ge=0, le=_COUNT)] | None = Field(default=None, examples=[2])
    device_hours_week: Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)] | None = Field(
        default=None, description="today and the six days before", examples=[100.0]
    )


RoleName = Literal["viewer", "member", "admin"]


class UserBody(Body):
    name: Annotated[str, StringConstraints(pattern=patterns.USER)] = Field(examples=["anna"])
    role: RoleName = Field(
        default="member", description="a viewer can only read, a member submits jobs, an admin has full access"
    )
    password: Password | None = Field(default=None, examples=["correct horse battery staple"])
    limits: LimitsBody | None = None


class UserChangeBody(Body):
    """What is left out stays as it is; at least one."""

    model_config = ConfigDict(extra="forbid", strict=True, json_schema_extra={"minProperties": 1})

    role: RoleName = Field(default="member", json_schema_extra=_without_default)
    disabled: bool = Field(default=False, examples=[False], json_schema_extra=_without_default)
    password: Password = Field(
        default="", examples=["correct horse battery staple"], json_schema_extra=_without_default
    )
    limits: LimitsBody = Field(default_factory=LimitsBody)

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if not self.model_fields_set:
            raise ValueError("nothing to change: send role, disabled, password or limits")
        return self


class OwnPasswordBody(Body):
    password: Password = Field(description="the new one", examples=["correct horse battery staple"])
    current: Secret | None = Field(default=None, description="the present password, if you have one")


class WebhookBody(Body):
    url: Url = Field(examples=["https://hooks.example/downshift"])
    kinds: MessageKinds = Field(
        default=["job.succeeded", "job.failed", "job.replanned"], description="which events are sent; default: all"
    )


def _unique_without_default(schema: dict[str, Any]) -> None:
    schema.pop("default", None)
    schema["uniqueItems"] = True


class WebhookEditBody(Body):
    """At least one of them. Enabled again, a webhook is told what happens from then on."""

    model_config = ConfigDict(extra="forbid", strict=True, json_schema_extra={"minProperties": 1})

    url: Url = Field(default="", examples=["https://hooks.example/two"], json_schema_extra=_without_default)
    kinds: Annotated[list[MessageKind], Field(min_length=1, max_length=3), AfterValidator(_each_once)] = Field(
        default=[], examples=[["job.failed"]], json_schema_extra=_unique_without_default
    )
    disabled: bool = Field(default=False, json_schema_extra=_without_default)

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if not self.model_fields_set:
            raise ValueError("nothing to change: send url, kinds or disabled")
        return self
