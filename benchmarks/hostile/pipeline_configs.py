"""pipeline.config: parsing, explaining errors, checking, planning, comparing and writing.

Each text is tried twice: with the largest allowed length, and with the largest allowed number of tokens. The first is
mostly refused at once; the second is processed completely.
"""

from dataclasses import dataclass

from benchmarks.hostile.registry import Trial, case
from services.domain import catalogue, pipeline_config
from services.domain.pipeline_config.schema.scan import tokens
from services.domain.pipeline_config.schema.text import MAX_CHARACTERS, MAX_TOKENS

GROUP = "pipeline.config"
LONG = "a" * (MAX_CHARACTERS // 2)


@dataclass(frozen=True)
class Text:
    """`head`, as many copies of `piece` as allowed, `tail`. A `№` in the piece is replaced by a running number."""

    head: str
    piece: str
    tail: str = ""

    def filled(self, max_tokens: int) -> str:
        around = self.head + self.tail
        characters, left = MAX_CHARACTERS - len(around), max_tokens - _count(around)
        fits = min(
            characters // len(self.piece), left // self._tokens_each() if self._tokens_each() else MAX_CHARACTERS
        )
        if "№" not in self.piece:
            return self.head + self.piece * fits + self.tail
        pieces = (self.piece.replace("№", str(number)) for number in range(1, fits + 1))
        return (self.head + "".join(pieces))[: MAX_CHARACTERS - len(self.tail)] + self.tail

    def _tokens_each(self) -> int:
        """The tokens of one piece; 0 if several pieces form one longer token, as digits do."""
        return max(0, (_count(self.piece * 20) - 1) // 19)


def _count(text: str) -> int:
    return sum(1 for _ in tokens(text))


def _sound() -> str:
    return pipeline_config.to_text(pipeline_config.build_config(catalogue.get("efficientdet_d0"), 3))


def _inside(field: str, piece: str, ahead: str = "", behind: str = "", text: str = "") -> Text:
    """A valid text with additions in a block, or instead of a value, with brackets in `ahead` and `behind`."""
    head, found, tail = (text or _sound()).partition(field)
    assert found, field
    return Text(head + (ahead or found), piece, behind + tail)


def _manual_schedule() -> str:
    config = pipeline_config.build_config(catalogue.get("efficientdet_d0"), 3)
    config.train_config.optimizer.momentum_optimizer.learning_rate.manual_step_learning_rate.initial_learning_rate = 0.1
    return pipeline_config.to_text(config)


def _ratios(piece: str) -> Text:
    return _inside("aspect_ratios: 1.0\n", piece, "aspect_ratios: [", "1]\n")


def _options(piece: str) -> Text:
    return _inside("train_config {", piece)


TEXTS = {
    "blocks in blocks": Text("", "a{"),
    "blocks in blocks, with colons and <": Text("", "a:<"),
    "lists in lists": Text("a:", "["),
    "known blocks in unknown ones": Text("model{ssd{", "loss{"),
    "only closing brackets": Text("", "}"),
    "blocks opened and closed": Text("", "a{}"),
    "many unknown fields": Text("", "a:1\n"),
    "unknown fields, all different": Text("", "f№:1\n"),
    "a name of half the text": Text(LONG + ": 1", " "),
    "fields in a block with a name of half the text": Text(LONG + "{", "b:1 "),
    "comments in a block with a name of half the text": Text(LONG + "{", "b№:1#\n"),
    "a name of half the text in a known block": Text("train_config { " + LONG + ": 1 }", " "),
    "a name nearly that of a field": Text("train_config { ", "batch_size", ": 1 }"),
    "a long text": Text('train_config { fine_tune_checkpoint: "', "x", '" }'),
    "a text in many pieces": Text('train_config { fine_tune_checkpoint: "" ', '"a"', " }"),
    "escapes": Text('train_config { fine_tune_checkpoint: "', "\\x41", '" }'),
    "unclosed quotes": Text("", '"\\'),
    "quotes that alternate": Text("", "\"'"),
    "backslashes": Text('a: "', "\\"),
    "a whole number of 256 KB": Text("train_config { batch_size: ", "9", " }"),
    "a hexadecimal number of 256 KB": Text("train_config { batch_size: 0x", "f", " }"),
    "a fraction of 256 KB": Text("train_config { gradient_clipping_by_norm: 0.", "1", " }"),
    "minus signs": Text("train_config { batch_size: ", "-", " }"),
    "comments alone": Text("", "#\n"),
    "one comment": Text("#", "x"),
    "blank lines": Text("", "\n"),
    "extensions": Text("", "[a.b/c]{}"),
    "Any with a long address": Text("[", "a.", "/c] { }"),
    "separators": Text("train_config {} ", ";"),
    "a set field again and again": Text("train_config {", "batch_size:1 ", "}"),
    "letters beyond ASCII": Text("", "\u00e9:1 "),
    "metrics that are none": Text("eval_config{", 'metrics_set:"a" ', "}"),
    "eval_input_reader": Text(_sound(), "eval_input_reader{}"),
    "eval_input_reader with what is refused": Text(_sound(), "eval_input_reader{num_additional_channels:1}"),
    "data_augmentation_options": _options("data_augmentation_options{random_horizontal_flip{}}"),
    "data_augmentation_options, empty": _options("data_augmentation_options{}"),
    "freeze_variables": _options('freeze_variables:"" '),
    "a list of numbers": _ratios("1,"),
    "comments on each number of a list": _ratios("1,#\n"),
    "a schedule of many steps": _inside(
        "manual_step_learning_rate {", "schedule{step:№ learning_rate:1}", text=_manual_schedule()
    ),
}


def _use(text: str) -> object:
    """Everything that the api does with a submitted text."""
    config, _ = pipeline_config.without_paths(pipeline_config.parse(text))
    pipeline_config.check(config)
    config = pipeline_config.apply(pipeline_config.plan_of(config), config)
    return pipeline_config.to_text(config, pipeline_config.comments(text))


def _add(name: str, source: Text, max_tokens: int) -> None:
    @case(GROUP, name)
    def prepare() -> Trial:
        text = source.filled(max_tokens)
        return Trial(len(text), lambda: _use(text))


def _add_comparison(name: str, one: Text, other: Text) -> None:
    @case(GROUP, name)
    def prepare() -> Trial:
        texts = [text.filled(MAX_TOKENS) for text in (one, other)]
        return Trial(sum(map(len, texts)), lambda: pipeline_config.compare(*map(pipeline_config.parse, texts)))


for name, text in TEXTS.items():
    _add(name, text, MAX_CHARACTERS)
    _add(f"{name}, {MAX_TOKENS:,} tokens", text, MAX_TOKENS)
_add_comparison("a comparison of long lists", _ratios("1,"), _ratios("2,"))
_add_comparison(
    "a comparison of many options",
    _options("data_augmentation_options{random_horizontal_flip{}}"),
    _options("data_augmentation_options{random_vertical_flip{}}"),
)
