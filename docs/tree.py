"""Write the tree of `docs/tree.md` from the docstrings of the modules.

Run `python docs/tree.py` after a file was added, moved or renamed; a test compares the two.
"""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "tree.md"
PACKAGES = (ROOT / "src" / "frobmetric", ROOT / "paper" / "src" / "frobmetric_paper")
BLOCK = re.compile(r"(^# The tree$.*?^```text\n)(.*?)(^```)", re.MULTILINE | re.DOTALL)


def summary(path):
    """Return the first sentence of a module's docstring."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split()).removesuffix(".")


def lines(folder, depth=0):
    """Yield one line for a package, and one for each module and package in it."""
    yield f"{'  ' * depth}{folder.name + '/':<{28 - 2 * depth}}{summary(folder / '__init__.py')}"
    for path in sorted(folder.iterdir(), key=lambda path: (path.is_dir(), path.name)):
        if (path / "__init__.py").exists():
            yield from lines(path, depth + 1)
        elif path.suffix == ".py" and path.name != "__init__.py":
            yield f"{'  ' * (depth + 1)}{path.name:<{26 - 2 * depth}}{summary(path)}"


def tree():
    """Return the tree of both packages as text."""
    return "".join(f"{line}\n" for package in PACKAGES for line in lines(package))


def main():
    """Replace the tree on the page."""
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(BLOCK.sub(lambda m: m[1] + tree() + m[3], text, count=1), encoding="utf-8")


if __name__ == "__main__":
    main()
