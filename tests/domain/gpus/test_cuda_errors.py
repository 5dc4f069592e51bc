"""Error texts of CUDA and TensorFlow, as users reported them, and the sentences that they become."""

import pytest

from services.domain.gpus.cuda_errors import is_out_of_memory, sentence_for

E = "E0000 00:00:1 100 cuda_platform.cc:51] "


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        (f"{E}failed call to cuInit: INTERNAL: CUDA error: Failed call to cuInit: CUDA_ERROR_SYSTEM_NOT_READY: "
         "system not yet initialized", "nvidia-fabricmanager"),
        (f"{E}failed call to cuInit: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH: system has unsupported display driver / cuda "
         "driver combination", "reboot"),
        ("kernel version 550.54.15 does not match DSO version 550.90.7 -- cannot find working devices", "reboot"),
        (f"{E}failed call to cuInit: CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE: forward compatibility was attempted on "
         "non supported HW", "cuda-compat"),
        ("InternalError: cudaGetDevice() failed. Status: CUDA driver version is insufficient for CUDA runtime version",
         "525.60.13"),
        ("CUDA_ERROR_UNSUPPORTED_PTX_VERSION: the provided PTX was compiled with an unsupported toolchain.", "too old"),
        (f"{E}failed call to cuInit: CUDA_ERROR_UNKNOWN: unknown error", "modprobe nvidia_uvm"),
        (f"{E}failed call to cuInit: UNKNOWN ERROR (303)", "libcuda.so.1"),
        (f"{E}failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected", "/dev/nvidia*"),
        ("InternalError: cudaSetDevice() on GPU:0 failed. Status: CUDA-capable device(s) is/are busy or unavailable",
         "nvidia-smi -c 0"),
        ("CUDA runtime implicit initialization on GPU:0 failed. Status: all CUDA-capable devices are busy or "
         "unavailable", "exclusive compute mode"),
        ("'cuModuleLoadData(&module, data)' failed with 'CUDA_ERROR_INVALID_PTX'", "no kernels"),
        ("CUDA_ERROR_NO_BINARY_FOR_GPU: no kernel image is available for execution on the device", "no kernels"),
        ("CUDNN_STATUS_ARCH_MISMATCH in ... cudnn_pooling_forward", "below 9.11"),
        ("Loaded runtime CuDNN library: 9.1.0 but source was compiled with: 9.3.0.", "make env"),
        ("CUDA_ERROR_ECC_UNCORRECTABLE: uncorrectable ECC error encountered", "replace the card"),
        ("CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered", "Xid"),
        ("CUDA_ERROR_LAUNCH_FAILED: unspecified launch failure", "Xid"),
        ("Cannot dlopen some GPU libraries. Please make sure the missing libraries mentioned above are installed "
         "properly", "make env"),
    ],
)  # fmt: skip
def test_a_known_text_becomes_a_sentence_that_says_what_to_do(text: str, advice: str) -> None:
    assert advice in (sentence_for(f"something before\n{text}\nand after") or "")


def test_the_cause_counts_and_not_what_follows_from_it() -> None:
    both = "failed call to cuInit: CUDA_ERROR_SYSTEM_NOT_READY\nno CUDA-capable device is detected"
    assert "fabricmanager" in (sentence_for(both) or "")


def test_an_unknown_text_has_no_sentence() -> None:
    assert sentence_for("This TensorFlow binary is optimized to use available CPU instructions") is None


@pytest.mark.parametrize("text", ["CUDA_ERROR_OUT_OF_MEMORY: out of memory", "RESOURCE_EXHAUSTED: OOM when allocating"])
def test_a_full_card_is_told_apart(text: str) -> None:
    assert is_out_of_memory(text)
    assert not is_out_of_memory("CUDA_ERROR_UNKNOWN")
