"""What is said about a device that waits for images."""

import pytest

from services.domain.contract import DeviceKind, HostCores
from services.domain.jobs.input_wait import recent, sentence

GPU, CPU = DeviceKind.GPU, DeviceKind.CPU


@pytest.mark.parametrize("share", [None, 0.0, 0.2])
def test_a_device_that_is_busy_enough_is_not_mentioned(share: float | None) -> None:
    assert sentence(share, GPU, HostCores(16, 4)) is None


@pytest.mark.parametrize(
    ("kind", "host", "words"),
    [
        (
            GPU,
            HostCores(16, 4),
            "The GPU waits for images 45 % of the time: decoding uses 4 of 16 cores, which 4 devices share; "
            "smaller source images, more cores, or fewer devices in DOWNSHIFT_DEVICES help.",
        ),
        (
            GPU,
            HostCores(8, 1),
            "The GPU waits for images 45 % of the time: decoding uses 8 cores; "
            "smaller source images or more cores help.",
        ),
        (
            CPU,
            HostCores(1, 1),
            "The device waits for images 45 % of the time: decoding and training share 1 core; "
            "smaller source images or more cores help.",
        ),
        (GPU, None, "The GPU waits for images 45 % of the time: smaller source images or more cores help."),
    ],
)
def test_it_says_how_much_why_and_what_helps(kind: DeviceKind, host: HostCores | None, words: str) -> None:
    assert sentence(0.45, kind, host) == words


def test_one_slow_report_does_not_make_a_sentence_but_several_do() -> None:
    share = 0.05
    seen = [share := recent(share, 0.5) for _ in range(3)]

    assert seen == pytest.approx([0.185, 0.2795, 0.34565])
    assert recent(None, 0.5) == 0.5
