"""The page of one dataset: findings, statistics, and images with their boxes in the right place."""

import io
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image, ImageDraw
from playwright.sync_api import Locator, Page, expect

from services.datasets import examples, importer
from services.domain import tfrecord
from tests.browser.conftest import Tab
from tests.browser.service import Service

PHONE = {"width": 375, "height": 740}
SIZES = ((640, 320), (300, 750), (500, 500))  # width, height: larger than a tile, smaller than a window
MAP = "item { id: 1 name: 'cat' } item { id: 2 name: 'dog' } item { id: 3 name: 'emu' }"
ORIENTATION = 0x0112
# Where the image, its first box and the space for both are in the window.
PLACES = """(tile) => {
  const place = (one) => { const { x, y, width, height } = one.getBoundingClientRect(); return [x, y, width, height]; };
  const image = tile.querySelector("img");
  return { image: place(image), box: place(tile.querySelector("rect:not(.under)")),
           place: place(image.parentElement.parentElement) };
}"""


def record(number: int, size: tuple[int, int], labels: list[bytes], turned: bool = False) -> bytes:
    """The first object covers a part of the image that is different in all directions."""
    width, height = size
    image = Image.new("RGB", size, (40, 60 + 10 * number, 90))
    ImageDraw.Draw(image).rectangle((width * 0.25, height * 0.5, width * 0.5, height * 0.9), (220, 60, 50))
    exif = image.getexif()
    if turned:
        exif[ORIENTATION] = 6
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=95, exif=exif)
    boxes = [(0.5, 0.25, 0.9, 0.5), (0.1, 0.6, 0.4, 0.9)][: len(labels)]
    return examples.encode(
        byte_lists={
            "image/encoded": [buffer.getvalue()],
            "image/filename": [f"{number}-{width}x{height}.jpg".encode()],
            "image/source_id": [b"same" if number < 2 else str(number).encode()],
            "image/object/class/text": labels,
        },
        floats={
            f"image/object/bbox/{side}": [box[place] for box in boxes]
            for place, side in enumerate(("ymin", "xmin", "ymax", "xmax"))
        },
    )


@pytest.fixture
def pets(service: Service, tmp_path: Path) -> Iterator[str]:
    """Landscape, portrait and square images, one that EXIF would turn, one without objects."""
    train = [record(number, size, [b"cat", b"dog"][: number % 2 + 1]) for number, size in enumerate(SIZES)]
    train += [record(3, (480, 240), [b"dog"], turned=True), record(4, (50, 50), [])]
    tfrecord.write(tmp_path / "train", train)
    tfrecord.write(tmp_path / "validation", [record(5, (64, 64), [b"dog"])])
    (tmp_path / "map").write_text(MAP)
    root = service.home / "datasets"
    importer.add(
        root,
        "pets",
        train=[tmp_path / "train"],
        validation=[tmp_path / "validation"],
        labels=tmp_path / "map",
        keep=importer.Keep.COPY,
    )
    yield "pets"
    shutil.rmtree(root / "pets")


def tiles(page: Page) -> Locator:
    return page.locator("#samples > li")


def loaded(tile: Locator) -> None:
    tile.scroll_into_view_if_needed()
    tile.evaluate("(tile) => tile.querySelector('img').decode()")


def check_boxes(tile: Locator, size: tuple[int, int]) -> None:
    """The image has its own shape, lies in its place, and the box is around the red object, as a person sees it."""
    loaded(tile)
    found = tile.evaluate(PLACES)
    left, top, width, height = found["image"]
    assert width / height == pytest.approx(size[0] / size[1], rel=0.03)
    around = found["place"]
    assert left >= around[0] - 1
    assert top >= around[1] - 1
    assert left + width <= around[0] + around[2] + 1
    assert top + height <= around[1] + around[3] + 1
    expected = (left + 0.25 * width, top + 0.5 * height, 0.25 * width, 0.4 * height)
    assert found["box"] == pytest.approx(expected, abs=1.5)
    seen = Image.open(io.BytesIO(tile.locator("img").screenshot())).convert("RGB").resize((100, 100))
    assert is_red(seen, 37, 70)
    for x, y in ((37, 40), (15, 70), (62, 70), (37, 96)):
        assert not is_red(seen, x, y)


def is_red(image: Image.Image, x: int, y: int) -> bool:
    pixel = image.getpixel((x, y))
    assert isinstance(pixel, tuple)
    return pixel[0] > 160 and pixel[1] < 120


@pytest.mark.parametrize("viewport", [{"width": 1280, "height": 900}, PHONE], ids=["wide", "phone"])
def test_boxes_lie_on_their_objects_in_images_of_any_shape(
    service: Service, pets: str, open_tab: Tab, viewport: dict[str, int]
) -> None:
    page = open_tab(service, f"/datasets/{pets}", viewport=viewport)
    expect(tiles(page)).to_have_count(5)
    for number, size in enumerate((*SIZES, (480, 240))):
        check_boxes(tiles(page).nth(number), size)
    for number, size in enumerate(SIZES):
        tiles(page).nth(number).get_by_role("button").click()
        dialog = page.get_by_role("dialog")
        expect(dialog.locator(".box-tag").first).to_have_text("cat")
        check_boxes(dialog, size)
        dialog.get_by_role("button", name="Close").click()
        expect(dialog).to_have_count(0)


def test_samples_are_filtered_and_sorted(service: Service, pets: str, open_tab: Tab) -> None:
    page = open_tab(service, f"/datasets/{pets}")
    expect(page.locator("#samples-count")).to_have_text("5 images")
    page.get_by_label("With class").select_option("dog")
    expect(page.locator("#samples-count")).to_have_text("2 images")
    page.get_by_label("Order").select_option("most_boxes")
    expect(tiles(page).first).to_contain_text("2 boxes")
    page.get_by_label("With class").select_option("")
    page.get_by_label("Order").select_option("smallest")
    expect(tiles(page).first).to_contain_text("3-480x240.jpg")  # no other choice has it first
    page.get_by_label("Images", exact=True).select_option("validation")
    expect(tiles(page)).to_have_count(1)


def test_more_samples_are_shown_on_request(service: Service, open_tab: Tab) -> None:
    page = open_tab(service, "/datasets/shapes")
    expect(tiles(page)).to_have_count(4)
    page.route("**/samples?*", lambda route: route.continue_(url=route.request.url.replace("limit=24", "limit=3")))
    page.reload()
    expect(tiles(page)).to_have_count(3)
    page.get_by_role("button", name="Show more").click()
    expect(tiles(page)).to_have_count(4)
    expect(page.get_by_role("button", name="Show more")).to_be_hidden()


def test_findings_and_statistics_are_shown(service: Service, pets: str, open_tab: Tab) -> None:
    page = open_tab(service, "/datasets")
    page.get_by_role("link", name=pets, exact=True).click()
    findings = page.locator("#findings li.found")
    expect(findings).to_have_count(3)
    repeated = findings.filter(has_text="same image/source_id")
    repeated.locator("summary").click()
    expect(repeated).to_contain_text("train: record 1")
    expect(findings.filter(has_text="1 of 3 classes have no object: emu")).to_be_visible()
    classes = page.get_by_role("table", name="Boxes of each class")
    expect(classes.get_by_role("row").nth(1)).to_have_text("dog2")
    lines = classes.locator(".bar-line")
    longest, shortest = (lines.nth(number).bounding_box() for number in (0, 2))
    assert longest
    assert longest["width"] > 40
    assert not shortest or shortest["width"] == 0
    expect(page.get_by_role("table", name="Image sizes").get_by_role("row")).to_have_count(5)
    page.get_by_role("button", name="Validation").click()
    expect(page.get_by_role("table", name="Image sizes").get_by_role("row")).to_have_text(["64 × 641"])


def test_a_dataset_from_before_says_what_is_missing(service: Service, pets: str, open_tab: Tab) -> None:
    folder = service.home / "datasets" / pets
    text = (folder / "dataset.json").read_text().replace('"statistics"', '"old"').replace('"findings"', '"older"')
    (folder / "dataset.json").write_text(text)
    (folder / "train.index").unlink()
    page = open_tab(service, f"/datasets/{pets}")
    expect(page.locator("#samples-problem")).to_contain_text("has no index")
    expect(page.locator("#findings")).to_contain_text("older version")
    expect(page.locator("#statistics")).to_contain_text("did not store statistics")
    expect(page.get_by_role("table", name="Boxes of each class")).to_be_visible()
