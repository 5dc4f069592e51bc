"""Reading and writing pipeline.config: problems have a position, comments survive."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.domain import catalogue
from services.domain.pipeline_config import ConfigError, build_config, check, comments, parse, to_text
from services.domain.pipeline_config.problems import MAX_PROBLEMS
from services.domain.pipeline_config.schema.scan import scan
from services.domain.pipeline_config.schema.text import MAX_CHARACTERS, MAX_DEPTH, MAX_TOKENS, empty

RESIZER = "model { faster_rcnn {\n  image_resizer {\n    "

BROKEN = [
    # text, line, column, field, words of the message
    ("train_config {\n  batchsize: 3\n}", 2, 3, "train_config.batchsize", "did you mean batch_size"),
    ("train_config {\n  batch_size: abc\n}", 2, 15, "train_config.batch_size", "expected a whole number"),
    ("train_config { batch_size: -1 }", 1, 28, "train_config.batch_size", "from 0"),
    ("train_config { batch_size 3 }", 1, 27, "train_config.batch_size", "colon"),
    ("train_config {\n batch_size: 1\n batch_size: 2 }", 3, 14, "train_config.batch_size", "set twice"),
    ("train_config {} train_config {}", 1, 30, "train_config", "set twice"),
    ("train_config { use_bfloat16: maybe }", 1, 30, "train_config.use_bfloat16", "true or false"),
    ("train_config { fine_tune_checkpoint: 3 }", 1, 38, "train_config.fine_tune_checkpoint", "text in quotes"),
    (
        "train_config { fine_tune_checkpoint_version: V7 }",
        1,
        46,
        "train_config.fine_tune_checkpoint_version",
        "one of UNKNOWN, V1, V2",
    ),
    ("model: 3", 1, 8, "model", "a block"),
    ("model { ssd { } faster_rcnn { } }", 1, 17, "model.faster_rcnn", "combined with ssd"),
    ("model {\n  ssd {\n", 2, 7, "model.ssd", "not closed"),
    ("model { } }", 1, 11, "", "one } too many"),
    ("batch_size: 3", 1, 1, "batch_size", "belongs at train_config.batch_size"),
    (RESIZER + "fixed { } } } }", 3, 5, "model.faster_rcnn.image_resizer.fixed", "has keep_aspect_ratio_resizer"),
    ("eval_input_reader { }\neval_input_reader { shufle: true }", 2, 21, "eval_input_reader[1].shufle", "shuffle"),
    ('train_config { fine_tune_checkpoint: "\\xff" }', 1, 45, "train_config.fine_tune_checkpoint", "UTF-8"),
    ("[a.b/c] { }", 1, 4, "a.b", "not used"),
]


@pytest.mark.parametrize(("text", "line", "column", "field", "words"), BROKEN, ids=[row[0][:40] for row in BROKEN])
def test_a_problem_has_line_column_and_field(text, line, column, field, words):
    with pytest.raises(ConfigError) as caught:
        parse(text)
    (problem,) = caught.value.problems
    assert (problem.line, problem.column, problem.field) == (line, column, field)
    assert words in problem.message
    assert f"line {line}, column {column}" in str(caught.value)
    assert field in str(caught.value)
    assert caught.value.code == "bad_config"


def test_a_wrong_value_in_a_list_is_named_by_its_index():
    anchors = "model { ssd { anchor_generator { multiscale_anchor_generator { aspect_ratios: [1, 2, x] } } } }"
    with pytest.raises(ConfigError, match=r"\.aspect_ratios\[2\]: expected a number, found x"):
        parse(anchors)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        ("  \n# only a comment\n", "empty"),
        ("\x00\x01\x02", "not text"),
        (b"\x1f\x8b\x08junk".decode("latin1"), "not text"),
        (b"\xff\xfe".decode("utf-8", errors="replace"), "not text"),
        ("# " + "x" * MAX_CHARACTERS, "at most"),
        ('train_config { fine_tune_checkpoint: "abc', "text in quotes"),
    ],
)
def test_text_that_is_no_config_gets_a_clear_message(text, words):
    with pytest.raises(ConfigError, match=words):
        parse(text)


@pytest.mark.parametrize("opening", ["a{", "a{\n", "a:<", "a:[", "model{"])
def test_deep_nesting_is_refused_at_its_first_bracket_that_is_too_deep(opening):
    with pytest.raises(ConfigError) as caught:
        parse(opening * 40_000)
    (problem,) = caught.value.problems
    place = (opening * (MAX_DEPTH + 1)).rstrip("\n")
    assert "nested too deep" in problem.message
    assert (problem.line, problem.column) == (place.count("\n") + 1, len(place.rpartition("\n")[2]))


def test_brackets_in_texts_and_comments_nest_nothing():
    config = parse('train_config { fine_tune_checkpoint: "' + "{" * 100 + '" } # ' + "{" * 100)
    assert config.train_config.fine_tune_checkpoint == "{" * 100


def test_more_tokens_than_any_config_has_are_refused_before_they_are_parsed():
    with pytest.raises(ConfigError, match="more than"):
        parse("train_config { " + 'freeze_variables: "a" ' * (MAX_TOKENS // 3) + "}")
    some = parse("train_config { " + 'freeze_variables: "a" ' * (MAX_TOKENS // 3 - 2) + "}")
    assert len(some.train_config.freeze_variables) == MAX_TOKENS // 3 - 2


@pytest.mark.parametrize(
    "text", ["a" * 200_000 + ": 1", "train_config { batch_size: " + "9" * 200_000 + " }", "[" + "a." * 9_000 + "/c] {}"]
)
def test_an_error_message_is_short_for_any_input(text):
    with pytest.raises(ConfigError) as caught:
        parse(text)
    assert len(str(caught.value)) < 2000


def test_of_many_problems_some_are_listed_and_the_rest_counted():
    config = parse("eval_config { " + 'metrics_set: "none" ' * 500 + "}")
    with pytest.raises(ConfigError) as caught:
        check(config)
    assert len(caught.value.problems) == MAX_PROBLEMS + 1
    assert "more problems" in caught.value.problems[-1].message


def test_a_scan_keeps_each_name_once_at_any_depth():
    found = scan("abc{" * 3_000, empty().DESCRIPTOR)
    assert len(found.marks) == len(found.open_blocks) == 3_000
    assert sum(len(mark.place.name) for mark in found.marks) == 3 * 3_000
    assert found.marks[2].path == "abc.abc.abc"


@given(st.text(max_size=80))
def test_any_text_is_parsed_or_refused_with_a_config_error(text):
    assert _is_parsed_or_refused(text)


def _is_parsed_or_refused(text):
    try:
        return parse(text) is not None
    except ConfigError as error:
        return bool(error.problems and str(error))


PIECES = st.sampled_from(
    ["model", "{", "}", "ssd", ":", "3", '"a"', "[", "]", ",", "<", ">", "#c\n", "train_config", "batch_size", "'"]
)


@given(st.lists(PIECES, max_size=25))
def test_any_tokens_are_parsed_or_refused_with_a_config_error(pieces):
    text = " ".join(pieces)
    assert len(comments(text)) <= pieces.count("#c\n")
    assert _is_parsed_or_refused(text)


@pytest.mark.parametrize("model", catalogue.MODELS.values(), ids=lambda model: model.name)
def test_writing_and_reading_gives_the_same_config(model):
    config = build_config(model, 3)
    text = to_text(config)
    assert parse(text) == config
    assert to_text(parse(text)) == text


def test_floats_are_written_as_people_write_them():
    text = to_text(build_config(catalogue.get("efficientdet_d0"), 3, learning_rate=0.01))
    assert "learning_rate_base: 0.01\n" in text


COMMENTED = """# About this model
model { # one stage
  ssd {
    num_classes: 3 # cones, cars, people
    # anchors of our own
    anchor_generator { multiscale_anchor_generator {
      aspect_ratios: [1.0, # squares
        2.0]
      # nothing more
    } }
  }
}
eval_input_reader { name: "a" } # the first
eval_input_reader {
  # the second's name # with a hash
  name: "b # no comment"
}
# the end
"""


def test_comments_are_found_with_their_fields():
    anchors = "model.ssd.anchor_generator"
    assert comments(COMMENTED) == {
        "model": ["# About this model", "# one stage"],
        "model.ssd.num_classes": ["# cones, cars, people"],
        anchors: ["# anchors of our own"],
        f"{anchors}.multiscale_anchor_generator.aspect_ratios[1]": ["# squares"],
        f"{anchors}.multiscale_anchor_generator": ["# nothing more"],
        "eval_input_reader[0]": ["# the first"],
        "eval_input_reader[1].name": ["# the second's name # with a hash"],
        "": ["# the end"],
    }


def test_comments_survive_a_rewrite():
    config = parse(COMMENTED)
    text = to_text(config, comments(COMMENTED))
    assert parse(text) == config
    assert comments(text) == comments(COMMENTED)
    assert "    # cones, cars, people\n    num_classes: 3\n" in text


def test_the_comment_of_a_removed_field_moves_to_the_block_around_it():
    config = parse(COMMENTED)
    config.model.ssd.ClearField("anchor_generator")
    text = to_text(config, comments(COMMENTED))
    for lines in comments(COMMENTED).values():
        assert all(line in text for line in lines)
    assert "# squares" in comments(text)["model.ssd"]


@given(st.data())
def test_a_comment_on_any_field_stays_with_it(data):
    plain = to_text(build_config(catalogue.get("mask_rcnn_resnet50_fpn"), 3)).splitlines()
    fields = [number for number, line in enumerate(plain) if line.strip() != "}"]
    chosen = data.draw(st.sets(st.sampled_from(fields), max_size=5))
    noted = []
    for number, line in enumerate(plain):
        noted += [f"# note {number}"] * (number in chosen) + [line]
    text = "\n".join(noted)
    assert len(comments(text)) == len(chosen)
    assert comments(to_text(parse(text), comments(text))) == comments(text)


def test_the_engine_runs_without_tensorflow():
    code = (
        "import sys; from services.domain import catalogue; from services.domain import pipeline_config as p;"
        "c = p.build_config(catalogue.get('efficientdet_d0'), 3); p.check(p.parse(p.to_text(c)));"
        "p.apply(p.plan_of(c), c);"
        "bad = {'tensorflow', 'keras', 'numpy', 'tf_keras'} & set(sys.modules); assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
