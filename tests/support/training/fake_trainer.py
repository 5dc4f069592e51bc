"""A trainer that follows the contract but trains nothing, for tests that need a fast or predictable one.

FAKE_TRAINER names a JSON file, read at the start: {"need_mb_per_image": 0, "step_s": 0.05, "phases_s": {"tracing": 1},
"steps": null, "die": null|"kill"|"segfault"|"exit3"|"deaf"|"hang", "die_at_step": 2, "observer": PATH,
"waits_for": null|PATH, "waits_at": 2}. With waits_for, it stays at that step, or in the phase of that name, until the
file exists. It needs need_mb_per_image x micro-batch of device memory, and from die_at_step on late_need_mb_per_image x
micro-batch. On a GPU it runs out as soon as the driver reports less free memory than that; its own use does not count.
If asked to probe, it takes the largest micro-batch that fits. It saves every step. It writes two lines to the
observer's file, "START job attempt device pid time" and "STOP …"; nothing else writes there.
"""

import json
import os
import re
import signal
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT))

from services.domain.contract import (  # noqa: E402
    CONFIG_FILE,
    EXIT_CODES,
    OUTCOME_FILE,
    SPEC_FILE,
    AllocatorStats,
    AttemptSpec,
    DeviceKind,
    EventKind,
    Outcome,
    Phase,
    Reason,
    resumed_step,
)
from worker.devices.gpu.nvml import Nvml  # noqa: E402

MB = 2**20


class Fake:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.behaviour: dict[str, Any] = json.loads(Path(os.environ["FAKE_TRAINER"]).read_text())
        self.spec = AttemptSpec.from_json((folder / SPEC_FILE).read_text())
        config = (folder / CONFIG_FILE).read_text()
        self.batch = int(re.search(r"batch_size: (\d+)", config)[1])  # type: ignore[index]
        self.steps = int(re.search(r"num_steps: (\d+)", config)[1])  # type: ignore[index]
        self.micro_batch = self.spec.micro_batch or self.batch
        self.limit = self.spec.device.memory_limit_mb * MB or None
        self.saved = Path(self.spec.job_dir, "checkpoints", self.spec.architecture, "fake-step")
        self.step = self.resumed()
        self.stopping = False
        self.nvml = Nvml() if self.spec.device.kind is DeviceKind.GPU and self.need else None
        signal.signal(signal.SIGTERM, self.stop)

    def stop(self, *_: Any) -> None:
        self.stopping = True

    def resumed(self) -> int:
        if not self.saved.exists():
            return 0
        step, batch = map(int, self.saved.read_text().split())
        return resumed_step(step, batch, self.batch)

    @property
    def need(self) -> int:
        return int(self.behaviour.get("need_mb_per_image", 0) * self.micro_batch * MB)

    def probe(self) -> None:
        """Skipped if it needs no memory."""
        if self.spec.probe is None or not self.need or self.limit is None:
            return
        self.phase(Phase.PROBING)
        points: list[dict[str, int | None]] = []
        for size in self.spec.probe.micro_batches:
            if points and points[-1]["peak"] is not None:
                break
            self.micro_batch = size
            points.append({"micro_batch": self.micro_batch, "peak": self.need if self.need <= self.limit else None})
        self.event(EventKind.PROBE, chosen=self.micro_batch, points=points, limit=self.limit, seconds=0.1, traces=1)

    def event(self, kind: EventKind, **fields: Any) -> None:
        with (self.folder / "events.jsonl").open("a") as file:
            file.write(json.dumps({"kind": kind, "time": time.time(), **fields}) + "\n")

    def observe(self, word: str) -> None:
        path = self.behaviour.get("observer")
        if path:
            line = f"{word} {Path(self.spec.job_dir).name} {self.folder.name} {self.spec.device.memory_limit_mb} "
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.write(descriptor, f"{line}{os.getpid()} {time.time():.6f}\n".encode())
            os.close(descriptor)

    def phase(self, phase: Phase, **fields: Any) -> None:
        self.event(EventKind.PHASE, phase=phase, **fields)
        self.sleep(self.behaviour.get("phases_s", {}).get(phase, 0))
        self.wait(phase)

    def sleep(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if self.stopping and self.behaviour.get("die") != "deaf":
                self.end(Reason.STOPPED, "stopped on request")
            time.sleep(min(0.02, max(0, until - time.monotonic())))

    def run(self) -> None:
        self.observe("START")
        print("fake trainer: one line of log", flush=True)
        for phase in (Phase.CHECKING, Phase.IMPORTING, Phase.BUILDING, Phase.TRACING):
            self.phase(phase)
        self.probe()
        if self.limit and self.need > self.limit:
            print("Allocator (mklcpu) ran out of memory trying to allocate 1.00MiB (rounded to 1048576)")
            self.end(Reason.DEVICE_MEMORY, "the device ran out of memory", requested=MB)
        self.phase(Phase.TRAINING, step=self.step, steps=self.steps, resumed=self.step > 0)
        while self.step < self.steps:
            self.train()
        self.phase(Phase.EVALUATING, step=self.step)
        self.event(EventKind.EVAL, step=self.step, metrics={"DetectionBoxes_Precision/mAP": 0.5}, images=1)
        self.phase(Phase.EXPORTING, step=self.step)
        export = Path(self.spec.job_dir, "export")
        (export / "saved_model" / "variables").mkdir(parents=True, exist_ok=True)
        (export / "pipeline.config").write_bytes(b"not a config")
        (export / "saved_model" / "saved_model.pb").write_bytes(b"not a model")
        self.write_checkpoint(export / "saved_model" / "variables" / "variables")
        self.end(Reason.COMPLETED, f"trained to step {self.step}", export="export")

    def check_gpu(self) -> None:
        if self.nvml is None:
            return
        free = self.nvml.read()[1][self.spec.device.gpu].free_bytes
        if self.need > free:
            asked = self.need - free
            print(f"Allocator (GPU_0_bfc) ran out of memory trying to allocate {asked / MB}MiB (rounded to {asked})")
            self.end(Reason.DEVICE_MEMORY, "the device ran out of memory", in_use=free, requested=asked)

    def train(self) -> None:
        self.sleep(self.behaviour.get("step_s", 0.02))
        self.wait(self.step)
        self.check_gpu()
        self.step += 1
        device = {"limit": self.limit, "current": self.need, "peak": self.need}
        self.event(
            EventKind.STEP,
            step=self.step,
            losses={"Loss/total_loss": 1 / self.step},
            learning_rate=0.01,
            images_per_s=10.0,
            step_s=0.02,
            input_wait=self.behaviour.get("input_wait", 0.02),
            device=device,
            host={"current": 10 * MB, "peak": 10 * MB},
        )
        self.saved.parent.mkdir(parents=True, exist_ok=True)
        self.write_checkpoint(self.saved.with_name(f"ckpt-{self.step}"))
        temporary = self.saved.with_name(".fake-step")
        temporary.write_text(f"{self.step} {self.batch}")
        temporary.replace(self.saved)  # after a kill before this line, the previous step is the saved one
        self.event(EventKind.CHECKPOINT, step=self.step)
        late_need = self.behaviour.get("late_need_mb_per_image", 0) * self.micro_batch * MB
        if self.limit and late_need > self.limit and self.step >= self.behaviour.get("die_at_step", 2):
            self.end(Reason.DEVICE_MEMORY, "the device ran out of memory", requested=MB)
        if self.step == self.behaviour.get("die_at_step", 2):
            self.die(self.behaviour.get("die"))

    def write_checkpoint(self, name: Path) -> None:
        """Write files with TensorFlow's names, the index last."""
        for ending in ("data-00000-of-00001", "index"):
            name.with_name(f"{name.name}.{ending}").write_bytes(b"not a variable")

    def wait(self, place: int | str) -> None:
        waits_for = self.behaviour.get("waits_for")
        while waits_for and place == self.behaviour.get("waits_at", 2) and not Path(waits_for).exists():
            self.sleep(0.02)

    def die(self, how: str | None) -> None:
        if how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif how == "segfault":
            os.kill(os.getpid(), signal.SIGSEGV)
        elif how == "exit3":
            os._exit(3)
        elif how in ("deaf", "hang"):
            self.sleep(3600)

    def end(
        self,
        reason: Reason,
        message: str,
        requested: int | None = None,
        export: str | None = None,
        in_use: int | None = None,
    ) -> None:
        outcome = Outcome(
            reason=reason,
            message=message,
            step=self.step,
            saved_step=self.step or None,
            allocator=AllocatorStats(
                limit=self.limit, in_use=in_use or self.limit, peak=self.need or None, requested=requested
            ),
            metrics={"DetectionBoxes_Precision/mAP": 0.5} if reason is Reason.COMPLETED else {},
            export=export,
        )
        temporary = self.folder / ".outcome"
        temporary.write_text(outcome.to_json())
        temporary.replace(self.folder / OUTCOME_FILE)
        self.observe("STOP")
        os._exit(EXIT_CODES[reason])


if __name__ == "__main__":
    Fake(Path(sys.argv[1])).run()
