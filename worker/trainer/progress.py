"""How far an attempt got: what its outcome says, whatever the end."""

from dataclasses import dataclass, field


@dataclass
class Progress:
    step: int = 0  # completed
    runs: int = 0  # micro-batches that were computed
    saved_step: int | None = None
    walked_bytes: int | None = None  # what the step's graph says of its peak
    metrics: dict[str, float] = field(default_factory=dict)
    export: str | None = None

    def has_unsaved(self) -> bool:
        return self.step > (self.saved_step or 0)
