"""SDPA sparse files: plain semidefinite programs, read and written.

SDPA's pair of problems is

    (P)  minimise c.T x        subject to  sum_i x_i F_i - F0 positive semidefinite
    (D)  maximise <F0, Y>      subject to  <F_i, Y> = c_i,  Y positive semidefinite

Ours is (D) with the sign turned: M = Y, A_i = F_i, cost = -F0, u = -x. The value that SDPA and
SDPLIB quote is therefore minus ours.
"""

from __future__ import annotations

import gzip
import lzma
import os
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from .._atomic import replacing
from ..core import PSD, Equal, FrobeniusSDP, Loss, Nonnegative, Product, Sparse
from ..core.cones import Cone
from ..core.types import Index, Symmetric, Vector
from .sdpa_parser import Entries, Layout, SDPAError, parse_sdpa

__all__ = ["SDPAError", "read_sdpa", "write_sdpa"]

PathLike: TypeAlias = str | os.PathLike[str]
#: How far a matrix may be from symmetric, relative to its largest entry.
ROUNDING = 1e-13


def read_sdpa(path: PathLike) -> FrobeniusSDP:
    """The plain SDP of an SDPA sparse file, which may be compressed (.gz, .xz).

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
        If the file is no such file; the message says on which line, and why.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from frobmetric.sdp.sdpa import read_sdpa
    >>> text = '"the largest eigenvalue of F0"\\n1 = mDIM\\n1 = nBLOCK\\n2\\n{1.0}\\n'
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "eigenvalue.dat-s")
    ...     _ = path.write_text(text + "0 1 1 2 3.0\\n1 1 1 1 1.0\\n1 1 2 2 1.0\\n")
    ...     problem = read_sdpa(path)
    >>> problem.cone, problem.loss, problem.cost.tolist()
    (PSD(n=2), Equal(target=array([1.])), [[0.0, -3.0], [-3.0, 0.0]])
    """
    c, layout, entries = parse_sdpa(_content(path), os.fspath(path))
    matrices = _symmetric_rows(entries, len(c), layout)
    cone = _cone(layout.sizes)
    cost = np.zeros(layout.size)
    start, stop = matrices.indptr[:2]
    cost[matrices.indices[start:stop]] = -matrices.data[start:stop]
    rows = Sparse(matrices[1:], cone)
    return FrobeniusSDP(rows, Equal(c), cost.reshape(cone.shape), sigma=np.inf, cone=cone)


def write_sdpa(problem: FrobeniusSDP, path: PathLike, comment: str = "") -> None:
    """Write a plain SDP as an SDPA sparse file, compressed if the name ends in .gz or .xz.

    Every number is written so that reading gives it back exactly. The format has equality rows
    only: rows "at least" and "at most" get slacks, in one more diagonal block, and a comment in
    the file says so. An existing file is replaced whole or not at all.

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
    >>> from frobmetric.core import AtMost, FrobeniusSDP, Sparse
    >>> from frobmetric.sdp.sdpa import write_sdpa
    >>> trace = Sparse.from_matrices([np.eye(2)])
    >>> problem = FrobeniusSDP(trace, AtMost(np.ones(1)), -np.eye(2), sigma=np.inf)
    >>> with TemporaryDirectory() as folder:
    ...     write_sdpa(problem, Path(folder, "trace.dat-s"), comment="trace at most 1")
    ...     print(Path(folder, "trace.dat-s").read_text())  # doctest: +NORMALIZE_WHITESPACE
    * trace at most 1
    * block 2 holds the slacks of the inequality rows, in their order
    1
    2
    2 -1
    1.0
    0 1 1 1 1.0
    0 1 2 2 1.0
    1 1 1 1 1.0
    1 1 2 2 1.0
    1 2 1 1 1.0
    """
    rows = _plain_rows(problem)
    target, sense = _hard_rows(problem.loss)
    layout = Layout(tuple(_sizes(problem.cone)))
    entries = _upper_triangles(problem.cost, rows, layout)
    slacked = np.flatnonzero(sense)
    if len(slacked):
        entries = _with_slacks(entries, slacked, sense, len(layout.sizes))
        layout = Layout((*layout.sizes, -len(slacked)))
    lines = [*_remarks(comment, len(slacked), len(layout.sizes)), *_lines(target, layout, entries)]
    with replacing(path) as file, _stream(file, path, "wb") as stream:
        stream.write("".join(f"{line}\n" for line in lines).encode())


def _stream(file: Any, path: PathLike, mode: str) -> AbstractContextManager[Any]:
    """The file with what its suffix stands for around it."""
    suffix = Path(path).suffix.lower()
    if suffix == ".gz":
        return gzip.GzipFile("", mode, fileobj=file, mtime=0)
    if suffix == ".xz":
        return lzma.LZMAFile(file, mode)
    return nullcontext(file)


def _content(path: PathLike) -> bytes:
    chunks: list[bytes] = []
    try:
        with open(path, "rb") as file, _stream(file, path, "rb") as stream:
            # read1: what comes before a damaged place is not lost, so its line is known
            while chunk := stream.read1(1 << 16):
                chunks.append(chunk)
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        line = b"".join(chunks).count(b"\n") + 1
        raise SDPAError(
            f"{os.fspath(path)}, line {line}: the compressed data end or are damaged here "
            f"({error}); expected a whole {Path(path).suffix} file; get the file again"
        ) from error
    return b"".join(chunks)


def _symmetric_rows(entries: Entries, m: int, layout: Layout) -> Any:
    """F0, ..., Fm, flattened, as the rows of a CSR array; entries that are 0 are left out."""
    kept = np.flatnonzero(entries.value)
    mirrored = kept[entries.row[kept] != entries.column[kept]]
    both = np.concatenate([kept, mirrored])
    row = np.concatenate([entries.row[kept], entries.column[mirrored]])
    column = np.concatenate([entries.column[kept], entries.row[mirrored]])
    place = (entries.matrix[both], layout.position(entries.block[both], row, column))
    return sp.csr_array((entries.value[both], place), shape=(m + 1, layout.size))


def _cone(sizes: tuple[int, ...]) -> Cone:
    cones = tuple(PSD(size) if size > 0 else Nonnegative(-size) for size in sizes)
    return cones[0] if len(cones) == 1 and sizes[0] > 0 else Product(cones)


def _plain_rows(problem: FrobeniusSDP) -> Any:
    """The rows of the constraints, if an SDPA file can hold the problem."""
    given = problem.constraints
    if not isinstance(given, Sparse):
        raise TypeError(
            f"the constraints are {type(given).__name__}; an SDPA file holds every row as a "
            "sparse matrix: give them as Sparse(rows, cone)"
        )
    sigma, offset = problem.sigma, problem.offset
    are_equal = list(_sizes(given.cone)) == list(_sizes(problem.cone))
    for is_so, message in (
        (not are_equal, f"rows on {given.cone}, cone {problem.cone}; they must be the same"),
        (given.shape[0] == 0, "the problem has no rows; an SDPA file needs one at least"),
        (sigma < np.inf, f"sigma={sigma!r}; an SDPA file has no Frobenius term: set sigma=np.inf"),
        (problem.prior.any(), "the prior is not zero; an SDPA file has none: leave it out"),
        (offset != 0, f"offset={offset!r}; an SDPA file has none: set it to 0, and add it later"),
    ):
        if is_so:
            raise ValueError(message)
    return given.rows


def _hard_rows(loss: Loss) -> tuple[Vector, Vector]:
    """The targets, and per row 0 for "equal", 1 for "at least", -1 for "at most"."""
    is_free_below, is_free_above = loss.lower == -np.inf, loss.upper == np.inf
    is_hard = (is_free_below | is_free_above) & (loss.curvature == 0) & loss.is_hard
    is_hard &= (is_free_below | (loss.lower == 0)) & (is_free_above | (loss.upper == 0))
    if not is_hard.all():
        raise ValueError(
            f"row {np.argmin(is_hard)} of the loss {type(loss).__name__} is soft; an SDPA file "
            "has rows that must hold: use Equal, AtLeast or AtMost"
        )
    with np.errstate(invalid="ignore"):  # 0 * inf, where a target is infinite
        _, target = loss.conjugate(np.zeros(len(is_hard)))
    if not np.isfinite(target).all():
        raise ValueError(
            f"row {np.argmin(np.isfinite(target))} has no finite target; an SDPA file needs one: "
            "leave out rows that always hold"
        )
    return target, is_free_above.astype(float) - is_free_below


def _sizes(cone: Cone) -> Iterator[int]:
    """The size of each block, negative for diagonal ones."""
    match cone:
        case PSD(n=n) if n > 0:
            yield n
        case Nonnegative(n=n) if n > 0:
            yield -n
        case Product(cones=cones):
            for part in cones:
                yield from _sizes(part)
        case _:
            raise ValueError(f"the block {cone}; SDPA has PSD(n) and Nonnegative(n), n > 0")


def _upper_triangles(cost: Symmetric, rows: Any, layout: Layout) -> Entries:
    """The entries of -cost and of all rows, one triangle of each."""
    matrices = sp.vstack([-sp.csr_array(cost.reshape(1, -1)), rows], format="csr")
    if not np.isfinite(matrices.data).all():
        raise ValueError("cost or rows hold NaN or infinity; an SDPA file needs finite numbers")
    flat = matrices.tocoo()
    block, row, column = layout.entry(flat.col)
    turned = (flat.row, layout.position(block, column, row))
    change = sp.csr_array((flat.data, turned), shape=flat.shape) - matrices
    is_off = _row_maxima(change) > ROUNDING * _row_maxima(matrices)
    if is_off.any():
        k = int(np.argmax(is_off))
        raise ValueError(
            f"{f'row {k - 1} of the constraints' if k else 'the cost'} is not a symmetric "
            "matrix; an SDPA file holds one triangle: give (A + A.T) / 2"
        )
    flat = (matrices + change / 2).tocoo()  # A itself where A is exactly symmetric
    block, row, column = layout.entry(flat.col)
    upper = (row <= column) & (flat.data != 0)
    return Entries(*(part[upper] for part in (flat.row, block, row, column, flat.data)))


def _row_maxima(rows: Any) -> Vector:
    return abs(rows).max(axis=1).toarray().ravel()


def _with_slacks(entries: Entries, slacked: Index, sense: Vector, n_blocks: int) -> Entries:
    """<A_r, M> - sense_r s = b_r, with s >= 0 in the diagonal block after the others."""
    own = np.arange(len(slacked))
    slack = Entries(slacked + 1, np.full_like(own, n_blocks), own, own, -sense[slacked])
    pairs = zip(vars(entries).values(), vars(slack).values(), strict=True)
    joined = [np.concatenate(pair) for pair in pairs]
    order = np.argsort(joined[0], kind="stable")
    return Entries(*(part[order] for part in joined))


def _remarks(comment: str, n_slacks: int, n_blocks: int) -> Iterator[str]:
    """The comment, and what the slacks are, as comment lines."""
    for line in comment.splitlines():
        yield "* " + "".join(mark if mark.isprintable() else " " for mark in line)
    if n_slacks:
        yield f"* block {n_blocks} holds the slacks of the inequality rows, in their order"


def _lines(target: Vector, layout: Layout, entries: Entries) -> Iterator[str]:
    """The numbers of the file; `repr` of a float gives it back when read."""
    yield str(len(target))
    yield str(len(layout.sizes))
    yield " ".join(map(str, layout.sizes))
    yield " ".join(map(repr, target.tolist()))
    columns = (column.tolist() for column in vars(entries).values())
    for matrix, block, row, column, value in zip(*columns, strict=True):
        yield f"{matrix} {block + 1} {row + 1} {column + 1} {value!r}"
