"""The packages keep to their architecture: imports, no cycles, tree and walks on the page."""

import ast
import re
import runpy
import sys
from functools import cache
from pathlib import Path

import pytest
from sklearn.datasets import load_iris

import frobmetric

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = ROOT / "src" / "frobmetric"
PAPER = ROOT / "paper" / "src" / "frobmetric_paper"
BASE = {"numpy", "scipy", "sklearn", "joblib", "threadpoolctl"}

#: The rooms of the library, in order: each may import itself and those before it.
ROOMS = ("verify", "core", "checks", "runtime", "solvers", "search", "backends", "comparisons")
ROOMS += ("model", "neighbors", "learning", "evaluation", "metric", "exceptions", "learners")
ROOMS += ("embeddings", "sdp", "manifold", "io", "export", "plotting", "app")
#: Files that compare the learners of other rooms: they may import all rooms before `io`.
COMPARING = ("evaluation/compare.py", "evaluation/models.py")
#: Third-party packages that a room may import, where these are not the base dependencies.
PACKAGES = {
    "verify": {"numpy"},
    "core": {"numpy", "scipy", "threadpoolctl"},
    "solvers": {"numpy", "scipy", "sklearn.exceptions"},
    "sdp": {"numpy", "scipy", "sklearn.exceptions"},
}
#: Optional packages that single files may import.
OPTIONAL = {
    "core/kernels.py": {"numba"},
    "core/tiles.py": {"llvmlite", "numba"},
    "sdp/cvxpy/__init__.py": {"cvxpy"},
    "backends/dask.py": {"dask", "distributed"},
    "backends/placement.py": {"distributed"},
    "plotting/style.py": {"matplotlib"},  # for types only
    "app/cli/__init__.py": {"typer"},
    "app/cli/options.py": {"typer"},
    "app/cli/terminal.py": {"typer"},
}
#: Rooms that import optional packages inside functions, or by `require`.
LAZY = {"io", "export", "plotting", "app"}
#: Rooms and modules that write the version of the library to files.
VERSIONED = LAZY | {"runtime"}
#: The parts of the reproduction, in order; experiments and benchmarks know nothing of each other.
SHARED_PARTS = ("data", "harness", "baselines", "classification")
EXPERIMENTS = ("uci", "action", "lfw", "mvu", "bench")


def _modules(package):
    return sorted(path.relative_to(package).as_posix() for path in package.rglob("*.py"))


def _nodes(tree, skip):
    """Yield all nodes below this one, except those inside nodes of the kinds to skip."""
    for node in ast.iter_child_nodes(tree):
        if not isinstance(node, skip):
            yield node
            yield from _nodes(node, skip)


@cache
def _imports(path, package, skip=()):
    """Return what a file imports, as absolute dotted names."""
    parents, names = [package.name, *path.relative_to(package).parent.parts], []
    for node in _nodes(ast.parse(path.read_text(encoding="utf-8")), skip):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = parents[: len(parents) - node.level + 1] if node.level else []
            base = ".".join([*start, *([node.module] if node.module else [])])
            names += [f"{base}.{alias.name}" for alias in node.names]
    return names


def _is_allowed(name, allowed):
    steps = name.split(".")
    prefixes = {".".join(steps[: n + 1]) for n in range(len(steps))}
    return steps[0] in sys.stdlib_module_names or bool(prefixes & allowed)


def _allowed_in_library(path):
    room = path.partition("/")[0].removesuffix(".py")
    if room in ("__init__", "__main__"):
        return {"frobmetric"}
    last = "io" if path.startswith(COMPARING) else room
    packages = PACKAGES.get(room, BASE) | OPTIONAL.get(path, set())
    version = {"frobmetric.__version__"} if room in VERSIONED else set()
    return packages | {f"frobmetric.{name}" for name in ROOMS[: ROOMS.index(last) + 1]} | version


def _allowed_in_paper(path):
    part = path.partition("/")[0].removesuffix(".py")
    parts = SHARED_PARTS[: SHARED_PARTS.index(part) + 1] if part in SHARED_PARTS else SHARED_PARTS
    if part == "command":
        parts += EXPERIMENTS
    return BASE | {"frobmetric"} | {f"frobmetric_paper.{name}" for name in (*parts, part)}


@pytest.mark.parametrize("path", _modules(LIBRARY))
def test_rooms_import_rooms_before_them(path):
    skip = ast.FunctionDef if path.partition("/")[0] in LAZY else ()
    allowed = _allowed_in_library(path)
    names = list(_imports(LIBRARY / path, LIBRARY, skip))
    assert [name for name in names if not _is_allowed(name, allowed)] == []


@pytest.mark.parametrize("path", _modules(PAPER))
def test_parts_of_the_reproduction_import_what_they_may(path):
    allowed = _allowed_in_paper(path)
    names = list(_imports(PAPER / path, PAPER, ast.FunctionDef))
    assert [name for name in names if not _is_allowed(name, allowed)] == []


def test_the_library_does_not_know_the_reproduction():
    for path in _modules(LIBRARY):
        names = _imports(LIBRARY / path, LIBRARY)
        assert not any(name.startswith("frobmetric_paper") for name in names), path


def _graph(package):
    """Return for each module of a package the modules of it that importing it needs."""
    files = {}
    for path in _modules(package):
        parts = [package.name, *path.removesuffix(".py").split("/")]
        files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = package / path
    graph = {}
    for name, path in files.items():
        wanted = set()
        for target in _imports(path, package, ast.FunctionDef):
            wanted.add(target if target in files else target.rpartition(".")[0])
        graph[name] = {target for target in wanted if target in files and target != name}
    return graph


@pytest.mark.parametrize("package", [LIBRARY, PAPER], ids=lambda package: package.name)
def test_no_module_imports_itself_through_others(package):
    graph, state = _graph(package), {}

    def visit(name, trail):
        if state.get(name) == "open":
            pytest.fail(f"cycle: {' -> '.join([*trail, name])}")
        if name not in state:
            state[name] = "open"
            for target in sorted(graph[name]):
                # a package may list names of its own modules, which may import its other modules
                if not name.startswith(f"{target}."):
                    visit(target, [*trail, name])
            state[name] = "done"

    for name in sorted(graph):
        visit(name, [])


@pytest.mark.parametrize("package", [LIBRARY, PAPER], ids=lambda package: package.name)
def test_private_names_stay_in_their_room(package):
    for path in _modules(package):
        room = path.partition("/")[0]
        for name in _imports(package / path, package):
            steps = name.split(".")
            if steps[0] == package.name and len(steps) > 2 and steps[1] != room:
                private = [step for step in steps[2:] if step.startswith("_") and step[1] != "_"]
                assert not private, f"{path} imports {name}"


def test_the_tree_on_the_page_is_the_tree():
    script = runpy.run_path(str(ROOT / "docs" / "tree.py"))
    text = (ROOT / "docs" / "tree.md").read_text(encoding="utf-8")
    assert script["BLOCK"].search(text)[2] == script["tree"]()


# The walks on the page


def _walks():
    """Return the walks of the page, each as a list of (file, function)."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = text.split("## Three walks")[1].split("\n## ")[0]
    blocks = re.findall(r"^```text\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    return [[tuple(line.split()[0].split(":")) for line in block.splitlines()] for block in blocks]


def _functions(path):
    """Return the qualified names of the functions of a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    for kind in (node for node in tree.body if isinstance(node, ast.ClassDef)):
        names |= {f"{kind.name}.{n.name}" for n in kind.body if isinstance(n, ast.FunctionDef)}
    return names


def _calls(function):
    """Return (file, function) of each first call of a function of the library, in order."""
    calls = {}

    def profile(frame, event, _):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(folder):
            calls[code.co_filename.removeprefix(folder), code.co_qualname] = None

    folder = f"{Path(frobmetric.__file__).parent}/"
    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        function()
    finally:
        sys.setprofile(before)
    return list(calls)


def _fit_labels():
    frobmetric.FrobMetric().fit(*load_iris(return_X_y=True))


def _fit_triplets():
    triplets = [[0, 1, 60], [60, 61, 110], [110, 111, 60], [0, 2, 110]]
    X = load_iris().data
    frobmetric.TripletFrobMetric(preprocessor=X).fit(triplets)


@pytest.mark.parametrize(("number", "fit"), [(0, _fit_labels), (1, _fit_triplets)])
def test_a_fit_goes_the_way_that_the_page_describes(number, fit):
    calls, walk = _calls(fit), _walks()[number]
    assert [call for call in calls if call in walk] == walk


@pytest.mark.parametrize(("number", "fit"), [(0, _fit_labels), (1, _fit_triplets)])
def test_a_fit_opens_few_files_of_estimators(number, fit):
    opened = {file for file, _ in _calls(fit) if file.startswith("metric/")}
    assert len(opened) <= 3


def test_the_walk_through_an_experiment_names_what_exists():
    walk = _walks()[2]
    for file, function in walk:
        assert function in _functions(PAPER / file), (file, function)
    assert len({file for file, _ in walk}) <= 9
