"""What a trainer inherits from the shell that started the service."""

from pathlib import Path

import pytest

from worker.clean_environment import clean_environment


def test_settings_and_variables_that_change_a_training_are_left_out() -> None:
    inherited = {
        "PATH": "/bin",
        "HTTPS_PROXY": "http://proxy",
        "NVIDIA_VISIBLE_DEVICES": "all",
        "DOWNSHIFT_DATABASE_URL": "postgresql://user:secret@host/name",
        "TF_CUDNN_WORKSPACE_LIMIT_IN_MB": "64",
        "TF_DEVICE_MIN_SYS_MEMORY_IN_MB": "1",
        "TF_XLA_FLAGS": "--tf_xla_auto_jit=2",
        "XLA_FLAGS": "--xla_dump_to=/tmp",
        "NVIDIA_TF32_OVERRIDE": "0",
        "CUDA_LAUNCH_BLOCKING": "1",
        "CUDA_VISIBLE_DEVICES": "3",
        "LD_PRELOAD": "libjemalloc.so",
    }
    assert clean_environment(inherited, {"CUDA_VISIBLE_DEVICES": "GPU-1"}) == {
        "PATH": "/bin",
        "HTTPS_PROXY": "http://proxy",
        "NVIDIA_VISIBLE_DEVICES": "all",
        "CUDA_VISIBLE_DEVICES": "GPU-1",
    }


@pytest.mark.parametrize("library", ["libcudart.so.12", "libcudnn.so.9", "libcudnn_ops.so.9", "libcublasLt.so.12"])
def test_a_cuda_toolkit_does_not_replace_the_pinned_libraries(tmp_path: Path, library: str) -> None:
    toolkit, driver = tmp_path / "cuda" / "lib64", tmp_path / "nvidia" / "lib64"
    for folder, name in ((toolkit, library), (driver, "libcuda.so.1")):
        folder.mkdir(parents=True)
        (folder / name).touch()
    found = clean_environment({"LD_LIBRARY_PATH": f"{toolkit}:{driver}:/not/there:"}, {})
    assert found == {"LD_LIBRARY_PATH": f"{driver}:/not/there"}
