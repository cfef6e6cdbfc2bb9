"""Names inside the library that tests replace, by any means."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from house.sources import Source

#: Methods that replace an attribute: of an object and a name, or of one dotted name.
REPLACING = {"setattr", "delattr", "patch", "object", "setitem", "delitem"}
IMPORTING = {"import_module", "importorskip"}
PACKAGES = ("frobmetric", "frobmetric_paper")


@dataclass(eq=False)
class _Names:
    """Dotted names that the variables of a file stand for."""

    known: dict[str, str] = field(default_factory=dict)
    looped: dict[str, list[str]] = field(default_factory=dict)

    def texts(self, node: ast.expr) -> list[str]:
        """Return the texts that an expression stands for: one, or those of a loop."""
        one = _text(node)
        written = ast.unparse(node)
        return [one] if one is not None else self.looped.get(written, [f"<{written}>"])

    def learn(self, node: ast.AST) -> None:
        """Take over the names that a statement defines."""
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                self.known[name] = alias.name if alias.asname else name
        elif isinstance(node, ast.For):
            self._learn_loop(node.target, node.iter)
        elif isinstance(node, ast.Call) and _name_of(node.func) == "parametrize":
            name = ast.Name(_text(node.args[0]) or "")
            self._learn_loop(name, node.args[1])
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                self.known[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            value = self.dotted(node.value)
            if value is not None:
                self.known.setdefault(node.targets[0].id, value)

    def _learn_loop(self, target: ast.expr, values: ast.expr) -> None:
        first = target.elts[0] if isinstance(target, ast.Tuple) else target
        whole = getattr(values.func, "value", values) if isinstance(values, ast.Call) else values
        keys = whole.keys if isinstance(whole, ast.Dict) else getattr(whole, "elts", [])
        texts = [text for key in keys if key is not None and (text := _text(key)) is not None]
        if isinstance(first, ast.Name) and texts:
            self.looped[first.id] = texts

    def dotted(self, node: ast.expr) -> str | None:
        """Return the dotted name that an expression stands for, if it is one."""
        if isinstance(node, ast.Name):
            return self.known.get(node.id)
        if isinstance(node, ast.Attribute):
            base = self.dotted(node.value)
            return None if base is None else f"{base}.{node.attr}"
        if isinstance(node, ast.Call) and node.args and _name_of(node.func) in IMPORTING:
            return _text(node.args[0])
        if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "sys.modules":
            return _text(node.slice)
        return None


def replaced_names(source: Source) -> Iterator[str]:
    """Yield the dotted names of the library that a file of tests replaces."""
    names = _Names()
    for node in ast.walk(source.tree):
        names.learn(node)
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and _name_of(node.func) in REPLACING:
            yield from _of_call(node, names)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Attribute):
                    yield from _inside(names.dotted(target))


def _of_call(node: ast.Call, names: _Names) -> Iterator[str]:
    if not node.args or (
        _name_of(node.func) == "object" and not isinstance(node.func, ast.Attribute)
    ):
        return
    whole = _text(node.args[0])
    if whole is not None:
        yield from _inside(whole)
        return
    base = names.dotted(node.args[0])
    if base is not None and len(node.args) > 1:
        for name in names.texts(node.args[1]):
            yield from _inside(f"{base}.{name}")
    elif base is not None:
        yield from _inside(base)


def _inside(name: str | None) -> Iterator[str]:
    if name is not None and name.partition(".")[0] in PACKAGES:
        yield name


def _name_of(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _text(node: ast.expr) -> str | None:
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return node.value if is_text else None
