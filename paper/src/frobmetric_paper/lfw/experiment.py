"""The paper's experiment with faces: choices on View 1, ten folds of View 2, a table, others."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ..baselines import named
from ..data.pairs import load_faces
from ..harness.store import checksum
from .cells import Cell, compute, setup_of, task_of
from .methods import FROB, Method, Setup
from .plan import LATER, MAIN, PARTS, Choice, Result, with_others
from .recipe import Images
from .splits import Split, view1, view2


class Watch:
    """Is told what happens; this one does nothing."""

    def begin(self, task, label, done, whole):
        """A method begins, after so many cells of so many."""

    def end(self, cell):
        """It has ended."""


def conduct(plan, store, limit, threads, *, folder=None, chosen=PARTS, watch=None):
    """Do what of the experiment is not done yet.

    Ctrl-C ends the work; what is finished is then given back as usual, the rest as "not run yet".

    Parameters
    ----------
    plan : Plan
    store : Store
        Where finished cells are kept, at once.
    limit : float
        Seconds for each fit. A method that gives no answer within it on View 1 or in a fold is not
        tried in further ones.
    threads : int
        Of each method.
    folder : path, optional
        Where data files are; by default the environment variable ``FROBMETRIC_DATA``.
    chosen : sequence of str
        Of `PARTS`; of the others what is finished is found only.
    watch : Watch, optional

    Returns
    -------
    Result
    """
    result = Result(plan)
    try:
        faces = load_faces("lfw", folder=folder)
    except (OSError, ValueError) as error:
        result.reason = str(error)
        return result
    work = _Work(plan, faces, store, limit, threads, chosen, watch or Watch(), result)
    result.sizes = work.sizes()
    work.choose(chosen)
    work.fold_cells([FROB.name], plan.variants, "folds" in chosen)
    work.table_cells("table" in chosen)
    work.fold_cells([method.name for method in plan.methods], (MAIN,), "methods" in chosen)
    return result


class _Work:
    """What `conduct` was given; fills its result."""

    def __init__(self, plan, faces, store, limit, threads, chosen, watch, result):
        self.plan, self.faces, self.result = plan, faces, result
        self.store, self.limit, self.threads, self.watch = store, limit, threads, watch
        self.images = Images(faces.X)
        pairs = (faces.view1_train, faces.view1_test, faces.view2)
        parts = [array for each in pairs for array in (each.index, each.same)]
        self.data = checksum(faces.X, faces.person, faces.view2_fold, *parts)
        self.methods = {method.name: method for method in plan.methods}
        self.splits, self.met = {}, set()
        self.n_cells = plan.n_cells(chosen)

    def split(self, number, variant) -> Split:
        """View 1 for None, or a fold of View 2."""
        key = number, variant
        if key not in self.splits:
            self.splits[key] = (
                view1(self.faces, variant) if number is None else view2(self.faces, number, variant)
            )
        return self.splits[key]

    def sizes(self):
        return [
            {
                "split": split.name,
                "variant": variant,
                "training pairs": len(split.train.same),
                "test pairs": len(split.test.same),
                "known images": len(split.known),
                "known people": len(set(split.identity.tolist())),
            }
            for variant in self.plan.variants
            for split in (self.split(None, variant), self.split(self.plan.folds[0], variant))
        ]

    def choose(self, chosen):
        """For FrobMetric whatever is wanted, for others if they are."""
        for variant in self.plan.variants:
            methods = self.plan.methods if variant == MAIN else (self.methods[FROB.name],)
            for method in methods:
                is_wanted = bool(chosen) if method.name == FROB.name else with_others(chosen)
                self.result.choices[method.name, variant] = self._choose(method, variant, is_wanted)

    def _choose(self, method, variant, is_wanted):
        """Values of one name after the other, the others being the best so far."""
        split = self.split(None, variant)
        how = split, self.plan.neighbors, is_wanted
        best = self.cell(method, method.first(self.plan.recipe), *how)
        tries = [best]
        for names, values in method.search.items():
            if not best.is_done:
                break
            now = setup_of(best)
            setups = [now.changed(named(names, value)) for value in values]
            found = [self.cell(method, setup, *how) for setup in setups if setup != now]
            tries += found
            best = max([best, *(cell for cell in found if cell.is_done)], key=_worth)
        is_complete = all(cell.remark != LATER for cell in tries)
        return Choice(tries, best if best.is_done else None, is_complete)

    def fold_cells(self, names, variants, is_wanted):
        """Each method with what was chosen for it, in each fold."""
        for variant in variants:
            rows = {name: self._row(name, variant, is_wanted) for name in names}
            self._fill(rows.values())
            self.result.folds |= {(name, variant): row.cells for name, row in rows.items()}

    def table_cells(self, is_wanted):
        """FrobMetric with what was chosen for it, but for dimensions and triplets."""
        row = self._row(FROB.name, MAIN, is_wanted)
        rows = {
            (count, dimensions): replace(
                row,
                cells=[],
                setup=row.setup.changed({"n_triplets": count, "n_dimensions": dimensions}),
            )
            for dimensions in self.plan.dimensions
            for count in self.plan.n_triplets
        }
        self._fill(rows.values())
        self.result.table = {place: row.cells for place, row in rows.items()}

    def _row(self, name, variant, is_wanted):
        method, choice = self.methods[name], self.result.choices[name, variant]
        first = choice.tries[0]
        if choice.best is None:
            ended = first.outcome, first.remark
            return _Row(method, variant, setup_of(first), (), is_wanted, *ended)
        row = _Row(method, variant, choice.setup, (choice.n_neighbors,), is_wanted)
        return row if choice.is_complete else replace(row, outcome="skipped", remark=LATER)

    def _fill(self, rows):
        """Fold by fold, since what PCA finds in one is used by all rows."""
        for number in self.plan.folds:
            for row in rows:
                row.cells.append(self._fold_cell(row, self.split(number, row.variant)))

    def _fold_cell(self, row, split):
        outcome, remark = row.outcome, row.remark
        over = [cell for cell in row.cells if cell.outcome in ("limit", "missing")]
        if not outcome and over:
            outcome, remark = "skipped", f"{over[0].remark} in {over[0].task.split}"
        if outcome:
            task = self._task(row.method, row.setup, split, row.neighbors)
            return Cell(task, row.method.label, outcome, self.limit, remark)
        return self.cell(row.method, row.setup, split, row.neighbors, row.is_wanted)

    def cell(self, method, setup, split, neighbors, is_wanted):
        """The cell of a setup in a split: found, or computed if it is wanted."""
        task = self._task(method, setup, split, neighbors)
        cell = self.store.find(task, self.limit)
        if cell is None and is_wanted and not self.result.interrupted:
            try:
                cell = self._compute(method, setup, task, split)
            except KeyboardInterrupt:
                self.result.interrupted = True
        if is_wanted:
            self.met.add(task)
        return cell or Cell(task, method.label, "skipped", self.limit, LATER)

    def _compute(self, method, setup, task, split):
        self.watch.begin(task, method.label, len(self.met), self.n_cells)
        cell = compute(method, setup, task, self.images, split, self.limit)
        self.store.keep(cell)
        self.watch.end(cell)
        return cell

    def _task(self, method, setup, split, neighbors):
        return task_of(method, setup, split, neighbors, self.plan.n_parts, self.threads, self.data)


@dataclass
class _Row:
    """A method with a setup, fold after fold; `outcome` and `remark` if it has none."""

    method: Method
    variant: str
    setup: Setup
    neighbors: tuple[int, ...]
    is_wanted: bool
    outcome: str = ""
    remark: str = ""
    cells: list = field(default_factory=list)


def _worth(cell):
    """By which a setup is chosen: what the best of its rules decides right on View 1."""
    return max(cell.both(rule) for rule in cell.rules)
