"""Commands read from the text of their modules, so that help needs no NumPy and no scikit-learn.

A module of commands is parsed and not imported: the decorators of its functions are evaluated, and
get a stand-in for each function and for each estimator whose parameters are options. A stand-in
has the signature and the docstring of what it stands for, and imports it when it is called.
"""

from __future__ import annotations

import ast
import inspect
from functools import cache
from importlib import import_module
from importlib.util import resolve_name
from pathlib import Path

#: The package, and the folder of its text.
PACKAGE = __name__.partition(".")[0]
FOLDER = Path(__file__).resolve().parents[2]


def read_commands(module, wanted=None):
    """Return the app of a module of commands, such as "frobmetric.app.cli.fit".

    It has the command of the `wanted` name, or all of them if that is None.
    """
    text = _Text(module)
    for node in text.nodes.values():
        if isinstance(node, ast.FunctionDef) and wanted in (None, node.name):
            for decorator in node.decorator_list:
                if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "command":
                    text.evaluate(decorator)(text[node.name])
    return text["app"]


def summary_of(module, name):
    """Return the first paragraph of the help of a command, or the help of its module's group."""
    text = _text_of(module)
    if name in text.nodes:
        return " ".join(ast.get_docstring(text.nodes[name]).partition("\n\n")[0].split())
    return text["app"].info.help


class _Text(dict):
    """Values of the names of a module, evaluated one by one when they are needed."""

    def __init__(self, module):
        super().__init__()
        self.module, self.nodes, self.imports = module, {}, {}
        path = FOLDER.joinpath(*module.split(".")[1:])
        is_package = path.is_dir()
        self.package = module if is_package else module.rpartition(".")[0]
        path = path / "__init__.py" if is_package else path.with_suffix(".py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            match node:
                case ast.FunctionDef() | ast.ClassDef():
                    self.nodes[node.name] = node
                case (
                    ast.Assign(targets=[ast.Name(id=name)])
                    | ast.AnnAssign(target=ast.Name(id=name))
                ):
                    self.nodes[name] = node
                case ast.AugAssign(target=ast.Name(id=name)):
                    self.nodes.pop(name, None)  # its value is not in one place
                case ast.ImportFrom(level=level, module=origin):
                    origin = resolve_name("." * level + (origin or ""), self.package)
                    self.imports |= {a.asname or a.name: (origin, a.name) for a in node.names}

    def __missing__(self, name):
        if name in self.nodes:
            self[name] = self._defined(self.nodes[name])
        elif name in self.imports:
            self[name] = _imported(*self.imports[name])
        else:
            raise NameError(f"the text of {self.module} does not tell what {name!r} is")
        return self[name]

    def evaluate(self, expression):
        """Return the value of an expression of this module."""
        return eval(compile(ast.Expression(expression), self.module, "eval"), {}, self)

    def _defined(self, node):
        match node:
            case ast.FunctionDef():
                return self._stand_in(node, self._parameters(node.args))
            case ast.ClassDef():
                start = next(part for part in node.body if getattr(part, "name", "") == "__init__")
                return self._stand_in(node, self._parameters(start.args)[1:])
        return self.evaluate(node.value)

    def _parameters(self, arguments):
        """Return what `inspect` says of parameters, without their annotations."""
        places = [*arguments.posonlyargs, *arguments.args]
        defaults = [None] * (len(places) - len(arguments.defaults)) + arguments.defaults
        kinds = [inspect.Parameter.POSITIONAL_OR_KEYWORD] * len(places)
        kinds += [inspect.Parameter.KEYWORD_ONLY] * len(arguments.kwonlyargs)
        names = [argument.arg for argument in (*places, *arguments.kwonlyargs)]
        return [
            inspect.Parameter(
                name, kind, default=inspect.Parameter.empty if node is None else self.evaluate(node)
            )
            for name, kind, node in zip(
                names, kinds, [*defaults, *arguments.kw_defaults], strict=True
            )
        ]

    def _stand_in(self, node, parameters):
        def call(*values, **named):
            return getattr(import_module(self.module), node.name)(*values, **named)

        call.__name__, call.__doc__ = node.name, ast.get_docstring(node)
        call.__signature__ = inspect.Signature(parameters)
        return call


def _imported(module, name):
    """Return what a module imports: a stand-in or a constant of this package, or the real thing."""
    if module.partition(".")[0] == PACKAGE:
        return _text_of(module)[name]
    return getattr(import_module(module), name)


_text_of = cache(_Text)
