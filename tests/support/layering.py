"""The import-linter contract behind `make check`: an allow list of each layer's imports.

import-linter's own contracts forbid named modules, so they would allow a new dependency until someone forbids it.
"""

import sys
from typing import cast

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output

__all__ = ["Layer"]


class Layer(Contract):
    """`layer`, without its packages `apart`, may directly import only itself, the standard library and `may_import`.

    Indirect imports need no check, as the modules between have their own contracts. Of an external package only the
    first part of the name counts, as the graph contains no more of it.
    """

    type_name = "layer"

    layer = fields.StringField()
    apart = fields.ListField(subfield=fields.StringField(), required=False)
    may_import = fields.ListField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        # import-linter replaces the declared fields by their values.
        layer, may_import = cast(str, self.layer), cast(list[str], self.may_import)
        apart = cast(list[str] | None, self.apart) or []
        own = [name for name in graph.modules if _within(name, [layer]) and not _within(name, apart)]
        if not own:
            raise ValueError(f"the layer {layer} has no modules")
        external = sys.stdlib_module_names | {name.partition(".")[0] for name in may_import}
        violations = []
        for importer in sorted(own):
            for imported in sorted(graph.find_modules_directly_imported_by(importer)):
                if graph.is_module_squashed(imported):
                    allowed = imported.partition(".")[0] in external
                else:
                    allowed = imported in own or _within(imported, may_import)
                if not allowed:
                    violations += graph.get_import_details(importer=importer, imported=imported)
        return ContractCheck(kept=not violations, metadata={"violations": violations})

    def render_broken_contract(self, check: ContractCheck) -> None:
        for detail in check.metadata["violations"]:
            output.print_error(f"{detail['importer']} may not import {detail['imported']}", bold=True)
            output.print_error(f"  line {detail['line_number']}: {detail['line_contents']}")
            output.new_line()


def _within(name: str, packages: list[str]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)
