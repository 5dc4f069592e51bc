"""A dataset is dropped on the page as a zip: its findings are read, or it is there."""

import base64
import io
import re
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Guard, Tab
from tests.browser.service import Service
from tests.support import own_data

DROP = """([selector, name, text]) => {
  const data = new DataTransfer();
  data.items.add(new File([Uint8Array.from(atob(text), (one) => one.charCodeAt(0))], name));
  for (const kind of ["dragenter", "dragover", "drop"]) {
    const event = new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true });
    document.querySelector(selector).dispatchEvent(event);
  }
}"""


@pytest.fixture
def own(service: Service, tmp_path: Path) -> Iterator[Path]:
    """A folder in YOLO format. Datasets that the test adds are removed."""
    own_data.yolo(tmp_path / "own", own_data.scenes(), segments=False)
    yield tmp_path / "own"
    shutil.rmtree(service.home / "datasets" / "My-pets-v2", ignore_errors=True)


def zipped(folder: Path) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.rglob("*")):
            archive.write(file, file.relative_to(folder))
    return made.getvalue()


def drop(page: Page, name: str, content: bytes) -> None:
    page.evaluate(DROP, ["#drop", name, base64.b64encode(content).decode()])


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_faulty_zip_shows_its_findings_and_a_good_one_is_added(
    service: Service, open_tab: Tab, guard: Guard, own: Path, theme: str
) -> None:
    guard.allow("422")
    guard.allow("409")
    page = open_tab(
        service,
        "/datasets",
        user="anna",
        color_scheme=theme,
        viewport={"width": 375 if theme == "dark" else 1200, "height": 900},
    )
    form = page.get_by_role("region", name="Add a dataset")
    good, label = zipped(own), own / "labels/train/train_00.txt"
    label.write_text("7 0.5 0.5 0.1 0.1\n")
    (own / "labels/val/validation_01.txt").write_text("0 5 0.5 0.1 0.1\n")

    form.get_by_role("button", name="Upload").click()
    expect(form.get_by_label("Archive")).to_be_focused()
    expect(form.get_by_label("Archive")).to_have_accessible_description(re.compile("Choose a zip or tar"))

    drop(page, "My pets (v2).zip", zipped(own))
    expect(form.get_by_label("Name", exact=True)).to_have_value("My-pets-v2")
    form.get_by_role("button", name="Upload").press("Enter")
    findings = form.get_by_role("listitem")
    expect(findings).to_have_count(2)
    expect(findings.nth(0)).to_contain_text("labels/train/train_00.txt: line 1: class: 7 has no name")
    expect(form.locator("#result > div")).to_be_focused()
    expect(form.get_by_role("heading", name="My-pets-v2 was not added")).to_be_visible()

    drop(page, "My pets (v2).zip", good)
    expect(form.get_by_role("heading", name="was not added")).to_have_count(0)
    form.get_by_role("button", name="Upload").click()
    expect(form.get_by_role("heading", name="My-pets-v2 was added")).to_be_visible()
    expect(form).to_contain_text("6 training images, 3 for validation, 3 classes")
    expect(form.get_by_role("listitem")).to_contain_text(["an image has no objects (1 times"])
    row = page.get_by_role("row").filter(has_text="My-pets-v2")
    expect(row).to_contain_text("YOLO")
    expect(row).to_contain_text(re.compile("[0-9a-f]{12}"))
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    expect(form.get_by_role("link", name="Train on My-pets-v2")).to_have_attribute(
        "href", "/jobs/new?dataset=My-pets-v2"
    )

    drop(page, "My pets (v2).zip", good)
    form.get_by_role("button", name="Upload").click()
    expect(form.get_by_label("Name", exact=True)).to_have_accessible_description(re.compile("already exists"))
    expect(form.get_by_label("Name", exact=True)).to_be_focused()


def test_an_upload_can_be_stopped_and_shows_its_progress(service: Service, open_tab: Tab, own: Path) -> None:
    page = open_tab(service, "/datasets")
    form = page.get_by_role("region", name="Add a dataset")
    page.route("**/v1/datasets?*", lambda _: None)  # it is never answered
    form.get_by_label("Archive").set_input_files(
        {"name": "pets.tar.gz", "mimeType": "application/gzip", "buffer": b"x" * 100_000}
    )
    expect(form.get_by_label("Name", exact=True)).to_have_value("pets")
    form.get_by_role("button", name="Upload").click()
    expect(form.get_by_role("progressbar")).to_be_visible()
    expect(form.get_by_role("button", name="Upload")).to_be_disabled()
    form.get_by_role("button", name="Stop").click()
    expect(form.get_by_role("progressbar")).to_have_count(0)
    expect(form.get_by_role("button", name="Upload")).to_be_enabled()


def test_who_may_not_submit_gets_no_form(service: Service, open_tab: Tab) -> None:
    page = open_tab(service, "/datasets", user="vera")
    expect(page.get_by_role("row").filter(has_text="shapes")).to_be_visible()
    expect(page.get_by_role("region", name="Add a dataset")).to_be_hidden()
