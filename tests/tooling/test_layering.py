"""Tests of the import contract of type "layer": each kind of violation must break it."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from grimp import ImportGraph

from tests.support.layering import Layer

ROOT = Path(__file__).parents[2]


def imports(*lines: tuple[str, str]) -> ImportGraph:
    """The import graph of a small project with these imports. Names outside `shop` are external packages."""
    graph = ImportGraph()
    for name in ("shop", "shop.domain", "shop.domain.prices", "shop.store", "shop.store.sql"):
        graph.add_module(name)
    for importer, imported in lines:
        if not imported.startswith("shop"):
            graph.add_module(imported, is_squashed=True)
        graph.add_import(importer=importer, imported=imported, line_number=1, line_contents="import")
    return graph


def is_kept(graph: ImportGraph, *, layer: str = "shop.domain", apart: str = "", may_import: str = "") -> bool:
    options = {"layer": layer, "apart": apart.split(), "may_import": may_import.split()}
    contract = Layer(name="under test", session_options={"root_packages": ["shop"]}, contract_options=options)
    return contract.check(graph, verbose=False).kept


@pytest.mark.parametrize("imported", ["json", "shop.domain", "shop.domain.prices"])
def test_a_layer_may_import_itself_and_the_standard_library(imported: str) -> None:
    assert is_kept(imports(("shop.domain.prices", imported)))


@pytest.mark.parametrize("imported", ["tensorflow", "shop", "shop.store", "shop.store.sql"])
def test_a_layer_may_not_import_anything_else_unless_it_is_listed(imported: str) -> None:
    graph = imports(("shop.domain.prices", imported))
    assert not is_kept(graph)
    assert is_kept(graph, may_import=imported)


def test_a_listed_package_includes_its_modules_but_not_packages_with_the_same_prefix() -> None:
    graph = imports(("shop.domain", "shop.store.sql"))
    assert is_kept(graph, may_import="shop.store")
    assert not is_kept(graph, may_import="shop.sto")


def test_a_package_that_is_apart_is_not_checked_with_its_layer() -> None:
    graph = imports(("shop.domain", "numpy"))
    assert not is_kept(graph, layer="shop")
    assert is_kept(graph, layer="shop", apart="shop.domain shop.store")
    assert not is_kept(imports(("shop", "shop.domain")), layer="shop", apart="shop.domain")


def test_a_contract_for_a_layer_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"shop\.cellar"):
        is_kept(imports(), layer="shop.cellar")


def test_every_package_of_the_project_has_a_contract() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests", "benchmarks"}
    layers = {contract["layer"] for contract in settings["contracts"] if contract["type"] == "layer"}
    assert packages <= set(settings["root_packages"])
    assert packages <= layers


def test_importing_the_services_does_not_import_tensorflow() -> None:
    # import-linter reads our sources only. This also finds what a dependency imports.
    program = """
import importlib, pkgutil, sys, services
for module in pkgutil.walk_packages(services.__path__, "services."):
    importlib.import_module(module.name)
sys.exit(", ".join({"tensorflow", "keras", "tf_keras"} & set(sys.modules)) or None)
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
