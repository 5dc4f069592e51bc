"""How far an attempt got: what its outcome reports, however it ends."""

from dataclasses import dataclass, field

from services.domain.contract import Exported


@dataclass
class Progress:
    step: int = 0  # completed
    runs: int = 0  # computed micro-batches
    saved_step: int | None = None
    walked_bytes: int | None = None  # the peak as estimated from the step's graph
    metrics: dict[str, float] = field(default_factory=dict)
    export: str | None = None
    exported: Exported | None = None
    stopped_early: str = ""  # why, if the training ended before its last step

    def has_unsaved(self) -> bool:
        return self.step > (self.saved_step or 0)
