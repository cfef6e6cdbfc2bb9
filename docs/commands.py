"""Write what the command line says of its commands: names, types, defaults and texts of options.

Run `python docs/commands.py` after a command, or an estimator whose parameters are its options, was
changed; a test compares the file with what the functions declare.
"""

import inspect
import json
import re
from importlib import import_module
from math import inf
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

from frobmetric.app.cli import COMMANDS, GROUPS
from frobmetric.app.cli.declaration import COMMON, FLAGS, AboveZero, AtLeast, Command
from frobmetric.app.cli.models import preparing

FILE = Path(import_module("frobmetric.app.cli").__file__).with_name("commands.json")
KINDS = {Path: "path", str: "str", int: "int", float: "float", bool: "bool"}
KINDS |= {list[Path]: "list of path", list[str]: "list of str"}


def texts_of(docstring):
    """Return the texts of the section "Parameters" of a numpydoc docstring, by name."""
    text = "\n" + inspect.cleandoc(docstring or "")
    section = text.partition("\nParameters\n----------\n")[2]
    section = re.split(r"\n.*\n---", section)[0]  # up to the title of the next section
    texts = {}
    for entry in re.split(r"\n(?=\S)", section):
        head, _, description = entry.partition("\n")
        names = head.partition(" : ")[0].split(", ")
        texts |= dict.fromkeys(names, " ".join(description.split()))
    return texts


def members(hint):
    """Yield the types of an annotation, its words and its bounds."""
    if get_origin(hint) in (Union, UnionType):
        for part in get_args(hint):
            yield from members(part)
    elif get_origin(hint) is Annotated:
        first, *bounds = get_args(hint)
        yield from (*members(first), *bounds)
    elif get_origin(hint) is Literal:
        yield from get_args(hint)
    elif hint is not NoneType:
        yield hint


def kind_of(hint):
    """Return the fields of an option that its annotation tells."""
    parts = list(members(hint))
    words = [part for part in parts if isinstance(part, str)]
    name = next((KINDS[part] for part in parts if part in KINDS), "str")
    fields = {"type": "number or word" if words and name == "int" else name}
    fields |= {"words": words} if words else {}
    for part in parts:
        fields |= {"least": part.least} if isinstance(part, AtLeast) else {}
        fields |= {"positive": True} if isinstance(part, AboveZero) else {}
    return fields


def flags_of(name, default):
    """Return the spellings of an option."""
    flag = f"--{name.replace('_', '-')}"
    flags = [f"{flag}/--no-{flag[2:]}" if default is True else flag]
    return flags + ([FLAGS[name]] if name in FLAGS else [])


def option(name, hint, default, text, *, is_argument=False, group=None):
    """Return an option or argument as JSON has it."""
    fields = {"name": name} | kind_of(hint)
    fields |= {"argument": True} if is_argument else {"flags": flags_of(name, default)}
    if default is not inspect.Parameter.empty:
        value = str(default) if isinstance(default, Path) or default == inf else default
        fields["default"] = value
    return fields | ({"group": group} if group else {}) | {"help": text}


def options(command):
    """Yield the options of a command: its own ones, then those of its source."""
    hints = get_type_hints(command.run, include_extras=True)
    texts = texts_of(COMMON) | texts_of(command.run.__doc__)
    taken, given = [], inspect.signature(command.run).parameters
    for name, parameter in given.items():
        if is_typeddict(hints[name]):
            taken = list(options_of_source(command, name, hints[name], {*given}))
        elif name == "preparation":
            for each, hint in get_type_hints(preparing, include_extras=True).items():
                if each != "return":
                    yield option(each, hint, None, texts[each], group=name)
        elif name != "given":
            is_argument = parameter.kind != parameter.KEYWORD_ONLY
            about = {"is_argument": is_argument}
            yield option(name, hints[name], parameter.default, texts[name], **about)
    yield from taken


def options_of_source(command, group, kind, own):
    """Yield the options of an estimator or a function, with the first sentences of its texts."""
    hints, texts = get_type_hints(kind, include_extras=True), texts_of(command.source.__doc__)
    for name, parameter in inspect.signature(command.source).parameters.items():
        if name in hints and name not in own:
            default = command.defaults.get(name, parameter.default)
            text = re.split(r"(?<=\.)\s+(?=[A-Z])", texts[name])[0]
            yield option(name, hints[name], default, text, group=group)


def describe(command):
    """Return a command as JSON has it."""
    text = inspect.getdoc(command.run).partition("\nParameters\n---")[0]
    described = {
        "help": text.replace("\\b", "\b"),  # typer's mark of lines that are not to be wrapped
        "codes": command.codes,
    }
    described |= {"given": True} if "given" in inspect.signature(command.run).parameters else {}
    return described | {"options": list(options(command))}


def declared(module):
    """Return the commands of a module by name."""
    return {k: v for k, v in vars(import_module(module)).items() if isinstance(v, Command)}


def commands():
    """Return all commands as JSON has them, by name."""
    described = {}
    for name, file in COMMANDS.items():
        module = f"frobmetric.app.cli.{file}"
        if name in GROUPS:
            subcommands = {key: describe(command) for key, command in declared(module).items()}
            group = import_module(module)
            described[name] = {"help": group.HELP, "codes": group.CODES, "commands": subcommands}
        else:
            described[name] = describe(declared(module)[name])
    return described


def text():
    """Return the text of the file."""
    return json.dumps(commands(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
