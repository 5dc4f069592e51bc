"""The import-linter contract behind `make check`: what each layer may import, as an allow list.

import-linter's own contracts forbid named modules, so a new dependency would be allowed until someone forbade it.
"""

import sys
from typing import cast

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output

__all__ = ["Layer"]


class Layer(Contract):
    """Direct imports of `layer`, without its packages that are `apart`, stay within itself, the standard library and
    `may_import`. Indirect ones need no check: the modules on the way have contracts of their own.

    An external package is named as it is imported. Only its first name counts: the graph knows no more of it.
    """

    type_name = "layer"

    layer = fields.StringField()
    apart = fields.ListField(subfield=fields.StringField(), required=False)
    may_import = fields.ListField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        # import-linter puts the values where the class declares fields.
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
