"""A fake `libnvidia-ml.so.1`, built from C, so that tests run the real binding on machines without GPUs.

    box = FakeNvml(tmp_path)
    box.write([FakeGpu(free_mb=2000, processes=[(4711, 22_000)])])
    subprocess.run([...], env={**os.environ, **box.environment()})

The binding finds the library through LD_LIBRARY_PATH. The loader reads it when a process starts, so the fake works in
child processes only. `write` may be called again while they run.
"""

import functools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

__all__ = [
    "DRIVER_NOT_LOADED",
    "FUNCTION_NOT_FOUND",
    "GPU_IS_LOST",
    "HANG",
    "NOT_SUPPORTED",
    "UNKNOWN",
    "FakeGpu",
    "FakeInstance",
    "FakeNvml",
    "build",
    "no_library",
]

HANG = -1  # the call never returns
NOT_SUPPORTED = 3
DRIVER_NOT_LOADED = 9
FUNCTION_NOT_FOUND = 13
GPU_IS_LOST = 15
UNKNOWN = 999

_SOURCE = Path(__file__).with_name("nvml.c")
_LIBRARY = "libnvidia-ml.so.1"
_MB = 2**20


def build(folder: Path) -> Path:
    """Write the library to `folder` and return its path. Compiled once per session; fails without a compiler."""
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / _LIBRARY
    library.write_bytes(_compiled())
    return library


def no_library(folder: Path) -> dict[str, str]:
    """The environment of a machine without an NVIDIA driver, even if the tests run on one with a driver."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _LIBRARY).write_bytes(b"")  # found first and invalid, so the loader does not search further
    return {"LD_LIBRARY_PATH": str(folder)}


@functools.cache
def _compiled() -> bytes:
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise AssertionError("the tests of the GPU code build a small C library: install a C compiler (cc, gcc, clang)")
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder, _LIBRARY)
        command = [compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC", "-o"]
        done = subprocess.run([*command, library, _SOURCE], capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{_SOURCE} does not compile:\n{done.stderr}"
        return library.read_bytes()


@dataclass(frozen=True)
class FakeInstance:
    """A MIG instance. `index`: NVML's, among those of its GPU."""

    index: int
    uuid: str
    name: str = "NVIDIA Fake A100 MIG 1g.10gb"
    total_mb: int = 9728
    free_mb: int = 9700
    processes: Sequence[tuple[int, int | None]] = ()  # pid, MB

    def lines(self) -> list[str]:
        return [
            f"instance {self.index} {self.total_mb * _MB} {self.free_mb * _MB} {self.uuid} {self.name}",
            *(f"instance-compute {self.index} {pid} {-1 if mb is None else mb * _MB}" for pid, mb in self.processes),
        ]


@dataclass(frozen=True)
class FakeGpu:
    """None: the card does not report the value. `fails`: the error code, or HANG, by NVML function, or "*" for all."""

    uuid: str = "GPU-aaaaaaaa-0000-0000-0000-000000000000"
    name: str = "NVIDIA Fake 3090"
    total_mb: int = 24_576
    free_mb: int = 24_000
    utilisation: int | None = 0
    temperature: int | None = 40
    capability: tuple[int, int] | None = (8, 6)
    mig: bool | None = None
    instances: Sequence[FakeInstance] = ()
    ecc: int | None = None  # uncorrected errors
    rows: tuple[int, int, int, int] | None = None  # remapped: correctable, uncorrectable, pending, failed
    retired: tuple[int, int] | None = None  # pages, pending
    throttle: int | None = None
    xid: tuple[int, int] | None = None  # its number (another one: it is new), and its code
    processes: Sequence[tuple[int, int | None]] = ()  # pid, MB
    graphics: Sequence[tuple[int, int | None]] = ()
    fails: Mapping[str, int] = field(default_factory=dict)

    def lines(self) -> list[str]:
        reported = [
            ("utilisation", self.utilisation),
            ("temperature", self.temperature),
            ("capability", self.capability and "{} {}".format(*self.capability)),
            ("mig", None if self.mig is None else int(self.mig)),
            ("ecc", self.ecc),
            ("rows", self.rows and " ".join(map(str, self.rows))),
            ("retired", self.retired and "{} {}".format(*self.retired)),
            ("throttle", self.throttle),
            ("xid", self.xid and "{} {}".format(*self.xid)),
        ]
        lists = [("compute", self.processes), ("graphics", self.graphics)]
        return [
            f"gpu {self.uuid} {self.name}",
            f"memory {self.total_mb * _MB} {self.free_mb * _MB}",
            *(f"{name} {value}" for name, value in reported if value is not None),
            *(f"{kind} {pid} {-1 if mb is None else mb * _MB}" for kind, held in lists for pid, mb in held),
            *(line for instance in self.instances for line in instance.lines()),
            *(f"gpu-fail {function} {code}" for function, code in self.fails.items()),
        ]


class FakeNvml:
    """A machine without GPUs until `write` adds some."""

    def __init__(self, folder: Path) -> None:
        self._library = build(folder / "fake_nvml")
        self._state = self._library.with_name("state")
        self._calls = self._library.with_name("calls")
        self.write()

    def environment(self) -> dict[str, str]:
        """The variables to add to a child's environment."""
        before = os.environ.get("LD_LIBRARY_PATH")
        return {
            "LD_LIBRARY_PATH": f"{self._library.parent}{f':{before}' if before else ''}",
            "FAKE_NVML_STATE": str(self._state),
            "FAKE_NVML_CALLS": str(self._calls),
        }

    def write(
        self,
        gpus: Sequence[FakeGpu] = (),
        *,
        driver: str = "550.54.14",
        generation: int = 1,
        fails: Mapping[str, int] | None = None,
    ) -> None:
        """Set the machine's GPUs. A new `generation` means a reloaded driver: open connections are dead."""
        lines = [f"driver {driver}", f"generation {generation}"]
        lines += [f"fail {function} {code}" for function, code in (fails or {}).items()]
        lines += [line for gpu in gpus for line in gpu.lines()]
        new = self._state.with_suffix(".new")
        new.write_text("\n".join(lines) + "\n")
        new.replace(self._state)  # atomic: a reader sees the old or the new state

    def calls(self) -> list[str]:
        """`open` and `close` in the order in which they were called, failed ones included."""
        return self._calls.read_text().split() if self._calls.exists() else []
