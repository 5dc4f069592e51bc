"""Which lines of a log may be folded away."""

from services.domain.diagnosis.log.noise import noise_in

LOG = b"""\
2026-11-17 16:09:28: I external/local_xla/xla/tsl/cuda/cudart_stub.cc:31] Could not find cuda drivers on your machine
2026-11-17 16:09:29: I tensorflow/core/platform/cpu_feature_guard.cc:210] This TensorFlow binary is optimized to use
To enable the following instructions: AVX2 FMA, in other operations, rebuild TensorFlow with the right flags.
2026-11-17 16:10:16.549746: E external/local_xla/xla/stream_executor/cuda/cuda_platform.cc:51] failed call to cuInit
WARNING:tensorflow:From object_detection/builders/dataset_builder.py:235: map is deprecated and will be removed
Instructions for updating:
Use `tf.data.Dataset.map()
[11/17 16:10:26] tensorflow WARNING: From dataset_builder.py:235: py_func is deprecated and will go
Instructions for updating:
tf.py_func is deprecated in TF V2. Instead, there are two
    options available in V2.
    - tf.numpy_function maintains the semantics
creating index...
step 1/8: loss 2.1043, learning rate 0.005, 1.20 images/s, memory 77 MB, at most 524 MB of 768 MB
/site-packages/tf_keras/src/backend.py:452: UserWarning: `set_learning_phase` is deprecated
  warnings.warn(
ValueError: From here on it is deprecated
"""


def test_start_up_messages_are_blocks_and_errors_and_the_trainers_own_lines_are_none() -> None:
    assert noise_in(LOG.splitlines()) == [(1, 3), (5, 12), (15, 16)]


def test_unannounced_advice_and_an_empty_log_are_no_noise() -> None:
    assert noise_in([]) == []
    assert noise_in([b"Instructions for updating:", b"Use something else", b"    indented"]) == []


def test_only_the_beginning_of_a_long_line_is_searched() -> None:
    assert noise_in([b"x" * 1000 + b"UserWarning: a is deprecated"]) == []
    assert noise_in([b"UserWarning: a is deprecated" + b"x" * 1000]) == [(1, 1)]
