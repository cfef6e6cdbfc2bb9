"""SDPA sparse files: read and write plain semidefinite programs, and write their answers.

The format states the pair of problems

    (P)  minimise c.T x      subject to  Z = sum_i x_i F_i - F0 positive semidefinite
    (D)  maximise <F0, X>    subject to  <F_i, X> = c_i,  X positive semidefinite

Ours is (D) with the sign turned: A_i = F_i, b = c, cost = -F0, y = -x, with the same X and Z. So
(P) is our dual, (D) is our primal, and both objectives are minus ours. This module alone knows
that: `SDPAAnswer`, `sdpa_status` and `sdpa_objectives` translate for all others. A file holds m,
the number of blocks, the block sizes, the vector c, and one line `matrix block row column value`
for each entry of F0, ..., Fm.
"""

from __future__ import annotations

import gzip
import lzma
import math
import os
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp

from ..checks.arguments import as_path, refuse_where
from ..checks.text import brief
from ..core import PSD, Equal, FrobeniusSDP, Nonnegative, Product, Sparse
from ..core.checks import require_problem
from ..core.cones import Cone
from ..core.points import Array, Index, Symmetric, Vector
from ..runtime.environment import check_expansion, check_file, replacing, total_memory
from ..solvers.plain import SDPStep, targets
from .presolve import with_slacks
from .solution import SDPCertificate, SDPSolution

PathLike: TypeAlias = str | os.PathLike[str]
#: Largest difference between a matrix and its transpose, relative to the largest entry.
ROUNDING = 1e-13
#: Number of matrices of the size of the problem that a solver holds at least.
MATRICES = 3
_BLANKS = str.maketrans(",(){}", " " * 5)
_HEADER_BLANKS = str.maketrans(",(){}=", " " * 6)  # "3=mDIM"
_POSITIVE = re.compile(r"\+?(?=0*[1-9])\d{1,15}", re.ASCII)
_NONZERO = re.compile(r"[+-]?(?=0*[1-9])\d{1,15}", re.ASCII)
_NUMBER = re.compile(
    r"[+-]?((\d+\.?\d*|\.\d+)([ed][+-]?\d+)?|nan|inf(inity)?)", re.ASCII | re.IGNORECASE
)
_NOT_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")


class SDPAError(ValueError):
    r"""A file is not an SDPA sparse file; the message names the line and the reason.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from frobmetric.sdp import SDPAError, read_sdpa
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "bad.dat-s")
    ...     _ = path.write_text("\n".join(["1", "1", "2", "1.0", "1 1 3 3 1.0"]))
    ...     try:
    ...         read_sdpa(path)
    ...     except SDPAError as error:
    ...         print(str(error).partition("bad.dat-s, ")[2].partition(";")[0])
    line 5: the entry (1 1 3 3 1.0) has row 3
    """


class Layout:
    """Positions of matrix entries among the flattened blocks; all indices count from 0.

    `sizes` are the orders of the blocks, negative for a diagonal one, whose diagonal is stored.
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = tuple(sizes)
        lengths = [max(size, 1) * abs(size) for size in sizes]
        self.size, self._offsets = sum(lengths), np.cumsum([0, *lengths])
        self._strides = np.maximum(self.sizes, 0)  # from one row of a block to the next

    @classmethod
    def of(cls, cone: Cone) -> Layout:
        """Return the layout of the elements of a cone."""
        for block in cone.blocks():
            if not block.is_solid or block.shape[0] == 0:
                raise ValueError(f"the block {block}; SDPA has PSD(n) and Nonnegative(n), n > 0")
        return cls([(-1) ** block.is_diagonal * block.shape[0] for block in cone.blocks()])

    def position(self, block: Index, row: Index, column: Index) -> Index:
        return self._offsets[block] + row * self._strides[block] + column

    def entries(self) -> tuple[Index, Index, Index]:
        """Return the block, row and column of each position."""
        block = np.repeat(np.arange(len(self.sizes)), np.diff(self._offsets))
        stride, place = self._strides[block], np.arange(self.size) - self._offsets[block]
        row, column = np.divmod(place, np.maximum(stride, 1))
        return block, row, np.where(stride > 0, column, row)


class Entries(NamedTuple):
    """Entries of F0, ..., Fm, each in one triangle; all but `matrix` count from 0."""

    matrix: Index
    block: Index
    row: Index
    column: Index
    value: Vector


def read_sdpa(path: PathLike) -> FrobeniusSDP:
    r"""Read the plain SDP of an SDPA sparse file, which may be compressed.

    Parameters
    ----------
    path : path of a `.dat-s`, `.dat-s.gz` or `.dat-s.xz` file

    Returns
    -------
    FrobeniusSDP
        With sigma = inf, equality rows <F_i, M> = c_i and cost -F0. Its cone is `PSD(n)` if the
        file has one block, otherwise the `Product` of the blocks, diagonal ones `Nonnegative`.

    Raises
    ------
    SDPAError
        If the file is not an SDPA sparse file; the message names the line and the reason.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from frobmetric.sdp import read_sdpa
    >>> text = '"the largest eigenvalue of F0"\n1 = mDIM\n1 = nBLOCK\n2\n{1.0}\n'
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "eigenvalue.dat-s")
    ...     _ = path.write_text(text + "0 1 1 2 3.0\n1 1 1 1 1.0\n1 1 2 2 1.0\n")
    ...     problem = read_sdpa(path)
    >>> problem.cone, problem.loss.target.tolist(), problem.cost.tolist()
    (PSD(n=2), [1.0], [[0.0, -3.0], [-3.0, 0.0]])
    """
    path = as_path(path)
    c, layout, entries = parse_sdpa(_content(path), os.fspath(path))
    _check_memory(layout, os.fspath(path))
    matrix, block, row, column, value = (part[entries.value != 0] for part in entries)
    off = row != column  # these stand for two entries
    position = layout.position(block, row, column)
    mirror = layout.position(block[off], column[off], row[off])
    place = (np.append(matrix, matrix[off]), np.append(position, mirror))
    F = sp.csr_array((np.append(value, value[off]), place), shape=(len(c) + 1, layout.size))
    blocks = tuple(PSD(n) if n > 0 else Nonnegative(-n) for n in layout.sizes)
    cone = blocks[0] if len(blocks) == 1 and layout.sizes[0] > 0 else Product(blocks)
    cost = 0.0 - F[[0]].toarray().reshape(cone.shape)  # 0 - F0: no minus zero
    return FrobeniusSDP(Sparse(F[1:], cone), Equal(c), cost, sigma=np.inf, cone=cone)


def _check_memory(layout: Layout, name: str) -> None:
    """Raise SDPAError if the matrices of a problem cannot be held in the memory of this machine."""
    needed, memory = MATRICES * 8 * layout.size, total_memory()
    if needed > memory:
        raise SDPAError(
            f"{name} has blocks of up to {max(map(abs, layout.sizes))} rows, for which at least "
            f"{needed / 1e9:,.0f} GB of memory are needed; this machine has {memory / 1e9:,.0f} GB"
        )


def _content(path: PathLike) -> bytes:
    check_file(path, "an SDPA sparse file")
    chunks: list[bytes] = []
    size = 0
    try:
        with open(path, "rb") as file, _stream(file, path, "rb") as stream:
            # read1: the lines before a damaged place are kept, so its line is known
            while chunk := stream.read1(1 << 16):
                chunks.append(chunk)
                size += len(chunk)
                check_expansion(path, size)
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        line = b"".join(chunks).count(b"\n") + 1
        raise SDPAError(
            f"{os.fspath(path)}, line {line}: the compressed data end or are damaged here "
            f"({error}); expected a whole {Path(path).suffix} file; get the file again"
        ) from error
    return b"".join(chunks)


def _stream(file: Any, path: PathLike, mode: str) -> AbstractContextManager[Any]:
    """Wrap a file in the compression that the suffix of its name stands for."""
    suffix = Path(path).suffix.lower()
    if suffix == ".gz":
        return gzip.GzipFile("", mode, fileobj=file, mtime=0)
    return lzma.LZMAFile(file, mode) if suffix == ".xz" else nullcontext(file)


def parse_sdpa(content: bytes, name: str) -> tuple[Vector, Layout, Entries]:
    """Return the vector c, the blocks and the entries of a file; `name` is for messages."""
    text = _Text(content, name)
    m = int(text.numbers(1, "m", _POSITIVE, "a positive integer")[0])
    n_blocks = int(text.numbers(1, "number of blocks", _POSITIVE, "a positive integer")[0])
    nonzero = "an integer, negative for a diagonal block and never 0"
    sizes = tuple(map(int, text.numbers(n_blocks, "block size", _NONZERO, nonzero)))
    if (m + 1) * sum(max(size, 1) * abs(size) for size in sizes) >= 2**62:
        given = f"m={m} matrices with blocks of up to {max(map(abs, sizes))} rows are given"
        raise text.error(given, "sizes that an index of 64 bits can count; correct them")
    c = np.array(text.numbers(m, "value of c", _NUMBER, "a finite number"))
    return c, Layout(sizes), text.entries(m, Layout(sizes))


def _in_range(index: Any, low: int, high: Any) -> Any:
    """Return for each index whether it is an integer in [low, high]."""
    return (index >= low) & (index <= high) & (index == np.floor(index))


class _Text:
    """Lines of a file, read from the top; errors name the line."""

    def __init__(self, content: bytes, name: str) -> None:
        self.name = name
        if match := _NOT_TEXT.search(content):
            self.n_read = content.count(b"\n", 0, match.start()) + 1
            hint = "give an SDPA sparse file; let its name end in .gz or .xz if it is compressed"
            raise self.error(f"the byte {match[0]!r} is found", f"text; {hint}")
        text = content.decode("utf-8-sig", "replace")
        self.lines = text.replace("\r\n", "\n").replace("\r", "\n").rstrip().split("\n")
        heads = enumerate(line.lstrip()[:1] for line in self.lines)
        self.n_read = next((k for k, head in heads if head not in ("", '"', "*")), len(self.lines))

    def error(self, given: str, expected: str) -> SDPAError:
        """Return the error of the line that was read last."""
        return SDPAError(f"{self.name}, line {self.n_read}: {given}; expected {expected}")

    def next_words(self, blanks: dict[int, int]) -> list[str]:
        """Return the words of the next line that is not blank, none at the end of the file."""
        while self.n_read < len(self.lines):
            self.n_read += 1
            if words := self.lines[self.n_read - 1].translate(blanks).split():
                return words
        return []

    def numbers(
        self, count: int, what: str, pattern: re.Pattern[str], expected: str
    ) -> list[float]:
        """Return the next numbers, which may span lines; text may follow the last."""
        values: list[float] = []
        while len(values) < count:
            words, n_due = self.next_words(_HEADER_BLANKS), count - len(values)
            if not words:
                raise self.error(
                    f"the file ends here, with {len(values)} of {count} numbers ({what})",
                    "m, the number of blocks, the block sizes, c and the entries; if it was cut "
                    "short, get it again",
                )
            for word in words[:n_due]:
                # Fortran writes 1.0D+03
                is_number = pattern.fullmatch(word) is not None
                values.append(float(word.lower().replace("d", "e")) if is_number else math.nan)
                if not math.isfinite(values[-1]):
                    raise self.error(
                        f"{brief(word)!r} is given as {what}", f"{expected}; correct it"
                    )
        if words[n_due:] and _NUMBER.fullmatch(words[n_due]):
            given = f"{brief(words[n_due])!r} follows the last {what}"
            raise self.error(given, f"{count} in all; correct the count, or begin a new line")
        return values

    def entries(self, m: int, layout: Layout) -> Entries:
        """Return the entries of the remaining lines."""
        start, table = self.n_read, self._table()
        matrix, block, row, column, value = table.T
        is_block, n_blocks = _in_range(block, 1, len(layout.sizes)), len(layout.sizes)
        size = np.array(layout.sizes)[np.where(is_block, block, 1).astype(np.intp) - 1]
        in_block = "one of 1 to {size}, the size of the block"
        checks = (
            ("value", np.isfinite(value), "a finite number"),
            ("matrix", _in_range(matrix, 0, m), f"one of 0 (for F0) to m={m}"),
            ("block", is_block, f"one of 1 to {n_blocks}"),
            ("row", _in_range(row, 1, abs(size)), in_block),
            ("column", _in_range(column, 1, abs(size)), in_block),
            ("column", (size > 0) | (row == column), "{row:.0f}, its row: the block is diagonal"),
        )
        is_valid = np.all([check[1] for check in checks], axis=0)
        if not is_valid.all():
            k = int(np.argmin(is_valid))
            name, _, expected = next(check for check in checks if not check[1][k])
            words, _ = self._entry(start, k)
            given = f"the entry ({' '.join(words)}) has {name} {words[Entries._fields.index(name)]}"
            expected = expected.format(size=abs(size[k]), row=row[k])
            raise self.error(given, f"{expected}; correct the line")
        matrix, block, row, column = table[:, :4].T.astype(np.intp)
        entries = Entries(matrix, block - 1, row - 1, column - 1, value.copy())
        upper = np.minimum(row, column) - 1, np.maximum(row, column) - 1
        key = matrix * layout.size + layout.position(entries.block, *upper)
        if not np.diff(np.sort(key)).all():
            order = np.argsort(key, kind="stable")
            repeated = int(order[1:][np.diff(key[order]) == 0].min())
            _, first = self._entry(start, int(np.argmax(key == key[repeated])))
            words, _ = self._entry(start, repeated)
            given = f"the entry ({' '.join(words)}) is given on line {first} already"
            expected = "each entry once, in one of the two triangles; remove one of the lines"
            raise self.error(given, expected)
        return entries

    def _entry(self, start: int, k: int) -> tuple[list[str], int]:
        """Go to entry k after line `start`; return its words for a message, and its line."""
        self.n_read = start
        words = [self.next_words(_BLANKS) for _ in range(k + 1)][k]
        return [brief(word) for word in words], self.n_read

    def _table(self) -> Array:
        """Return the five numbers of each remaining line."""
        body = "\n".join(self.lines[self.n_read :]).translate(_BLANKS)
        if not body.strip():
            return np.empty((0, 5))
        try:
            body = body.replace("D", "e").replace("d", "e")
            table = np.loadtxt(body.split("\n"), comments=None, ndmin=2)
            if table.shape[1] == 5:
                return table
        except ValueError:
            pass  # the line is found below
        while words := self.next_words(_BLANKS):
            bad = [word for word in words if not _NUMBER.fullmatch(word)]
            if bad or len(words) != 5:
                numbers = f"{len(words)} numbers are given ({brief(' '.join(words))})"
                raise self.error(
                    f"{brief(bad[0])!r} is given where a number is due" if bad else numbers,
                    "five numbers `matrix block row column value`; correct or complete the line",
                )
        raise self.error("the entries end here", "numbers; correct a line before")


def write_sdpa(problem: FrobeniusSDP, path: PathLike, *, comment: str = "") -> None:
    """Write a plain SDP as an SDPA sparse file, compressed if the name ends in .gz or .xz.

    Reading the file gives every number back exactly. The format has equality rows only: rows "at
    least" and "at most" get slacks, in one more diagonal block, and a comment in the file says so.
    An existing file is replaced whole or not at all.

    Parameters
    ----------
    problem : FrobeniusSDP
        With sigma = inf, `Sparse` constraints, hard rows, and neither prior nor offset.
    path : path, of any suffix
    comment : str, lines for the head of the file

    Examples
    --------
    >>> import numpy as np
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from frobmetric.sdp import make_sdp, write_sdpa
    >>> problem = make_sdp(-np.eye(1), [np.eye(1)], [4.0], "<=")
    >>> with TemporaryDirectory() as folder:
    ...     write_sdpa(problem, Path(folder, "bound.dat-s"), comment="X at most 4")
    ...     print(Path(folder, "bound.dat-s").read_text().rstrip())
    * X at most 4
    * block 2 holds the slacks of the inequality rows, in their order
    1
    2
    1 -1
    4.0
    0 1 1 1 1.0
    1 1 1 1 1.0
    1 2 1 1 1.0
    """
    rows = _plain_rows(problem)
    equations, _ = with_slacks(problem)
    if not isinstance(comment, str):
        raise TypeError(f"comment is {comment!r:.80}; expected text; give '' for none")
    layout, remarks, c = Layout.of(equations.cone), comment.splitlines(), targets(problem)
    if equations is not problem:
        rows, block = _plain_rows(equations), len(layout.sizes)
        remarks.append(f"block {block} holds the slacks of the inequality rows, in their order")
    texts = ("".join(mark if mark.isprintable() else " " for mark in line) for line in remarks)
    numbers = ([len(c)], [len(layout.sizes)], layout.sizes, c.tolist())
    head = [*(f"* {text}" for text in texts), *(" ".join(map(repr, row)) for row in numbers)]
    entries = _upper_triangles(equations.cost, rows, layout)
    path = as_path(path)
    with replacing(path) as file, _stream(file, path, "wb") as stream:
        stream.write("".join(f"{line}\n" for line in head).encode())
        stream.writelines(_entry_lines(entries))


def _plain_rows(problem: FrobeniusSDP) -> Any:
    """Return the rows as a sparse array; raise an error if an SDPA file cannot hold the problem."""
    require_problem(problem)
    A, loss = problem.constraints.as_sparse(), problem.loss
    sigma, offset, kind = problem.sigma, problem.offset, type(loss).__name__
    if A is None:
        raise TypeError(
            f"the constraints are {type(problem.constraints).__name__}; an SDPA file holds every "
            "row as a sparse matrix: give them as Sparse(rows, cone)"
        )
    if Layout.of(problem.cone).sizes != Layout.of(A.cone).sizes:
        raise ValueError(f"rows on {A.cone}, cone {problem.cone}; they must be the same")
    if A.shape[0] == 0:
        raise ValueError("the problem has no rows; an SDPA file needs one at least")
    if sigma < np.inf:
        raise ValueError(f"sigma={sigma!r}; an SDPA file has no Frobenius term: set sigma=np.inf")
    if problem.prior.any():
        raise ValueError("the prior is not zero; an SDPA file has none: leave it out")
    if offset != 0:
        raise ValueError(f"offset={offset!r}; an SDPA file has none: set it to 0, and add it later")
    is_hard = loss.is_hard & (np.isinf(loss.lower) | np.isinf(loss.upper)) & (loss.curvature == 0)
    advice = "an SDPA file has rows that must hold: use Equal, AtLeast or AtMost"
    refuse_where(~is_hard, lambda row: f"row {row} of the loss {kind} is soft; {advice}")
    with np.errstate(invalid="ignore"):  # 0 * inf, where a target is infinite
        b = targets(problem)
    advice = "an SDPA file needs one: leave out rows that always hold"
    refuse_where(~np.isfinite(b), lambda row: f"row {row} has no finite target; {advice}")
    return A.rows


def _upper_triangles(cost: Symmetric, rows: Any, layout: Layout) -> Entries:
    """Return the entries of -cost and of all rows, one triangle of each."""
    matrices = sp.vstack([-sp.csr_array(cost.reshape(1, -1)), rows], format="csr")
    if not np.isfinite(matrices.data).all():
        raise ValueError("cost or rows hold NaN or infinity; an SDPA file needs finite numbers")
    block, row, column = layout.entries()
    difference = matrices[:, layout.position(block, column, row)] - matrices
    error, size = (abs(A).max(axis=1).toarray().ravel() for A in (difference, matrices))
    wrong = "is not a symmetric matrix; an SDPA file holds one triangle: give (A + A.T) / 2"
    refuse_where(
        error > ROUNDING * size,
        lambda k: f"{f'row {k - 1} of the constraints' if k else 'the cost'} {wrong}",
    )
    symmetric = matrices + difference / 2  # exactly A where A is exactly symmetric
    symmetric.sum_duplicates()
    flat = symmetric.tocoo()
    is_written = (row <= column)[flat.col] & (flat.data != 0)
    matrix, place, value = (part[is_written] for part in (flat.row, flat.col, flat.data))
    return Entries(matrix, block[place], row[place], column[place], value)


def _entry_lines(entries: Entries) -> Iterator[bytes]:
    """Yield the lines of entries; `repr` of a float gives it back when read."""
    for matrix, block, row, column, value in zip(*(part.tolist() for part in entries), strict=True):
        yield f"{matrix} {block + 1} {row + 1} {column + 1} {value!r}\n".encode()


def sdpa_objectives(ours: SDPCertificate | SDPStep) -> tuple[float, float]:
    """Return c.x of (P) and <F0, X> of (D) from a certificate or step of ours."""
    return 0.0 - ours.dual, 0.0 - ours.primal  # 0 - v: no minus zero


def sdpa_status(status: str) -> str:
    """Translate a status; primal and dual are exchanged, and all misses are "not_converged"."""
    swapped = {"primal_infeasible": "dual_infeasible", "dual_infeasible": "primal_infeasible"}
    return (swapped | {"optimal": "optimal"}).get(status, "not_converged")


@dataclass(frozen=True)
class SDPAAnswer:
    """Answer of an SDPA file in the names and signs of the format.

    Attributes
    ----------
    solution : SDPSolution
    x : ndarray of shape (m,)
    X, Z : lists of ndarrays
        One for each block of the file; the diagonal of a diagonal block. If there is no solution,
        x, X and Z hold the ray that proves it, and are 0 elsewhere.

    Examples
    --------
    >>> import numpy as np
    >>> from frobmetric.sdp import make_sdp, solve_sdp
    >>> from frobmetric.sdp.sdpa import SDPAAnswer
    >>> problem = make_sdp(np.diag([-1.0, -3.0]), [np.eye(2)], [1.0])
    >>> answer = SDPAAnswer.from_solution(solve_sdp(problem))
    >>> answer.x.round(3).tolist(), answer.X[0].round(3).tolist()
    ([3.0], [[0.0, 0.0], [0.0, 1.0]])
    >>> round(answer.as_dict()["primal"], 3)
    3.0
    """

    solution: SDPSolution
    x: Vector = field(repr=False)
    X: list[Symmetric] = field(repr=False)
    Z: list[Symmetric] = field(repr=False)

    @classmethod
    def from_solution(cls, solution: SDPSolution) -> SDPAAnswer:
        problem, ray = solution.problem, solution.ray
        y, X, Z = solution.y, solution.X, solution.Z
        if ray is not None and ray.kind == "primal_infeasible":
            y, X, Z = ray.vector, np.zeros_like(X), -problem.constraints.adjoint(ray.vector)
        elif ray is not None:
            y, X, Z = np.zeros_like(y), ray.vector, np.zeros_like(Z)
        return cls(solution, 0.0 - y, problem.cone.cut(X), problem.cone.cut(Z))

    def as_dict(self) -> dict[str, Any]:
        """Return status, objectives and errors for JSON: None for unknown and infinite numbers."""
        certificate, ray = self.solution.certificate, self.solution.ray
        primal, dual = sdpa_objectives(certificate)
        status = sdpa_status(self.solution.status)
        # of a problem without a solution the last iterate means nothing
        known = _number if ray is None else lambda value: None
        errors = {name: known(getattr(certificate, name)) for name in ("eta_p", "eta_d", "eta_g")}
        X, Z = known(certificate.min_eigenvalue), known(certificate.min_eigenvalue_dual)
        return {
            "status": status,
            "ended": self.solution.status if status == "not_converged" else status,
            "primal": known(primal),
            "dual": known(dual),
            "bound": known(0.0 - certificate.bound),
            "errors": errors,
            "min_eigenvalue": {"X": X, "Z": Z},
            "ray_error": None if ray is None else _number(ray.error),
            "proof": None if ray is None else ray.reason,
            "nearly": self._nearly(),
            "n_iter": self.solution.n_iter,
            "sigma": _number(self.solution.problem.sigma),
            "notes": list(self.solution.notes),
        }

    def _nearly(self) -> dict[str, Any] | None:
        """Return what a ray that is no proof says of answers, in the names of the format."""
        ray = self.solution.nearly
        if ray is None:
            return None
        if ray.kind == "primal_infeasible":
            return {"status": sdpa_status(ray.kind), "least_trace": _number(ray.least)}
        return {"status": sdpa_status(ray.kind), "least_norm": _number(ray.least)}

    def write(self, path: PathLike) -> None:
        """Write arrays x, X1, ..., Z1, ... to a file *.npz, and CSDP's text to any other.

        The text is a line of x, then `1 block i j value` for Z and `2 block i j value` for X.
        """
        with replacing(path) as file:
            if Path(path).suffix.lower() == ".npz":
                # no allow_pickle: old versions of NumPy take it for an array of that name
                arrays: dict[str, Any] = {f"X{k}": A for k, A in enumerate(self.X, 1)}
                arrays |= {f"Z{k}": A for k, A in enumerate(self.Z, 1)}
                np.savez(file, x=self.x, **arrays)
                return
            file.write((" ".join(map(repr, self.x.tolist())) + "\n").encode())
            for number, blocks in ((1, self.Z), (2, self.X)):
                for k, block in enumerate(blocks):
                    places = np.nonzero(np.triu(block) if block.ndim == 2 else block)
                    i, j = places[0], places[-1]
                    head = (np.full_like(i, number), np.full_like(i, k))
                    file.writelines(_entry_lines(Entries(*head, i, j, block[places])))


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
