import pytest
from google.protobuf import descriptor_pool

from services.datasets import examples
from services.domain.tfrecord import DatasetError


def test_decoding_gives_back_the_encoded_features() -> None:
    payload = examples.encode(
        byte_lists={"name": [b"a", b"\xff\x00"], "nothing": []}, floats={"x": [0.5, -1.0]}, ints={"n": [1, -(2**62)]}
    )
    assert examples.decode(payload) == {
        "n": [1, -(2**62)],
        "name": [b"a", b"\xff\x00"],
        "nothing": [],
        "x": [0.5, -1.0],
    }


def test_the_wire_format_is_that_of_tf_train_example() -> None:
    # tf.train.Example with one int64 feature "n" of [7], serialized by TensorFlow
    assert examples.encode(ints={"n": [7]}).hex() == "0a0c" + "0a0a" + "0a016e" + "1205" + "1a03" + "0a0107"


def test_the_order_of_features_does_not_change_the_bytes() -> None:
    names = [f"feature/{n}" for n in range(20)]
    forwards = examples.encode(ints={name: [1] for name in names})
    backwards = examples.encode(ints={name: [1] for name in reversed(names)})
    assert forwards == backwards


def test_an_empty_list_keeps_its_type() -> None:
    kinds = [examples.encode(byte_lists={"x": []}), examples.encode(floats={"x": []}), examples.encode(ints={"x": []})]
    assert len(set(kinds)) == 3


def test_bytes_that_are_not_an_example_are_refused() -> None:
    with pytest.raises(DatasetError) as caught:
        examples.decode(b"\xff\xff\xff")
    assert caught.value.code == "dataset_bad_example"


def test_the_default_pool_is_left_to_tensorflow() -> None:
    with pytest.raises(KeyError):
        descriptor_pool.Default().FindFileByName("downshift/example.proto")


def test_some_features_are_decoded_without_the_others() -> None:
    entry = b"\x0a\x04junk" + b"\x12\x02\xff\xff"  # a map entry whose value is no Feature
    junk = bytes([0x0A, len(entry) + 2, 0x0A, len(entry)]) + entry
    payload = examples.encode(ints={"n": [7]}, floats={"x": [0.5]}) + junk
    with pytest.raises(DatasetError):
        examples.decode(payload)

    assert examples.decode_some(payload, ["n", "missing"]) == {"n": [7]}
    assert examples.decode_some(payload, ["x", "n"]) == {"x": [0.5], "n": [7]}
    with pytest.raises(DatasetError):
        examples.decode_some(payload, ["junk"])
