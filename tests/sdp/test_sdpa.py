"""SDPA sparse files: every habit of the format, every error with its line, and round trips."""

import csv
import gzip
import lzma
import os
import re

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from frobmetric.core import (
    PSD,
    AtLeast,
    AtMost,
    Equal,
    FrobeniusSDP,
    Hard,
    Hinge,
    Nonnegative,
    Pairs,
    Product,
    SmoothedHinge,
    Sparse,
    SquaredHinge,
)
from frobmetric.core.cones import Face
from frobmetric.core.losses import Mixed
from frobmetric.core.solution import STATUSES
from frobmetric.sdp import SDPAError, read_sdpa, solve_sdp, write_sdpa
from frobmetric.sdp.sdpa import SDPAAnswer, sdpa_objectives, sdpa_status
from random_problems import blocks, dense_rows, symmetric
from sdpa_examples import MANUAL

# The two examples of the SDPA manual, with the optimal values that it gives
EXAMPLE_2 = """\
"Example 2: mDim = 5, nBLOCK = 3, {2,3,-2}"
5 = mDIM
3 = nBLOCK
(2, 3, -2) = bLOCKsTRUCT
{1.1, -10, 6.6, 19, 4.1}
""" + "".join(
    f"{matrix} {block} {i} {j} {value}\n"
    for matrix, numbers in enumerate(
        [
            "-1.4 -3.2 -28  15 -12 2.1 16 -3.8 15  1.8 -4.0",
            "0.5 5.2 -5.3  7.8 -2.4 6.0 4.2 6.5 2.1  -4.5 -3.5",
            "1.7 7.0 -9.3  -1.9 -0.9 -1.3 -0.8 -2.1 4.0  -0.2 -3.7",
            "6.3 -7.5 -3.3  0.2 8.8 5.4 3.4 -0.4 7.5  -3.3 -4.0",
            "-2.4 -2.5 -2.9  3.4 -3.2 -4.5 3.0 -4.8 3.6  4.8 9.7",
            "-6.5 -5.4 -6.6  6.7 -7.2 -3.6 7.3 -3.0 -1.4  6.1 -1.5",
        ]
    )
    for (block, i, j), value in zip(
        [
            (1, 1, 1),
            (1, 1, 2),
            (1, 2, 2),
            (2, 1, 1),
            (2, 1, 2),
            (2, 1, 3),
            (2, 2, 2),
            (2, 2, 3),
            (2, 3, 3),
            (3, 1, 1),
            (3, 2, 2),
        ],
        numbers.split(),
        strict=True,
    )
)


@pytest.fixture
def read(tmp_path):
    """Return a function that reads a text as a file."""

    def read_text(text, name="given.dat-s"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_sdpa(path)

    return read_text


def assert_same(problem, other):
    """Exactly the same numbers, on the same cone."""
    assert problem.cone == other.cone
    np.testing.assert_array_equal(problem.cost, other.cost)
    np.testing.assert_array_equal(rows_of(problem), rows_of(other))
    np.testing.assert_array_equal(problem.loss.target, other.loss.target)


def rows_of(problem):
    return np.array([row.ravel() for row in dense_rows(problem.constraints)])


def optimum(problem):
    """The optimal value by cvxpy and Clarabel."""
    import cvxpy as cp

    flat, rules = [], []
    for cone in getattr(problem.cone, "cones", (problem.cone,)):
        is_matrix = len(cone.shape) == 2
        block = cp.Variable(cone.shape, **({"PSD": True} if is_matrix else {"nonneg": True}))
        flat.append(cp.vec(block, order="C"))
    M = cp.hstack(flat)
    v, target = rows_of(problem) @ M, problem.loss.conjugate(np.zeros(len(problem.loss.lower)))[1]
    for r, (low, high) in enumerate(zip(problem.loss.lower, problem.loss.upper, strict=True)):
        if high > 0:
            rules.append(v[r] >= target[r])
        if low < 0:
            rules.append(v[r] <= target[r])
    statement = cp.Problem(cp.Minimize(problem.cost.ravel() @ M), rules)
    best = statement.solve(solver=cp.CLARABEL)
    assert statement.status == "optimal"
    return best


# Reading


def test_the_example_of_the_manual(read):
    problem = read(MANUAL)
    assert problem.cone == PSD(2)
    assert problem.sigma == np.inf
    assert problem.offset == 0
    assert not problem.prior.any()
    np.testing.assert_array_equal(problem.cost, [[11, 0], [0, -23]])
    np.testing.assert_array_equal(problem.loss.target, [48, -8, 20])
    np.testing.assert_array_equal(
        dense_rows(problem.constraints), [[[10, 4], [4, 0]], [[0, 0], [0, -8]], [[0, -8], [-8, -2]]]
    )


@pytest.mark.parametrize(
    ("text", "value"), [(MANUAL, -41.9), (EXAMPLE_2, 32.06269340)], ids=["1", "2"]
)
def test_the_value_of_sdpa_is_minus_ours(read, text, value):
    assert -optimum(read(text)) == pytest.approx(value, rel=1e-6)


def test_minus_u_is_the_x_of_sdpa(read):
    """At SDPA's x of the manual's first example, c.x is the value and Z is in the cone."""
    problem, x = read(MANUAL), np.array([-1.1, -2.7375, -0.55])
    assert problem.loss.target @ x == pytest.approx(-41.9)
    Z = problem.cost - problem.constraints.adjoint(-x)
    assert problem.cone.min_eigenvalue(Z) > -1e-9


def test_blocks_are_flattened_one_after_the_other(read):
    problem = read(EXAMPLE_2)
    assert problem.cone == Product((PSD(2), PSD(3), Nonnegative(2)))
    np.testing.assert_array_equal(
        -problem.cost,
        [-1.4, -3.2, -3.2, -28, 15, -12, 2.1, -12, 16, -3.8, 2.1, -3.8, 15, 1.8, -4.0],
    )
    assert problem.constraints.shape == (5, 15)


@pytest.mark.parametrize(
    ("sizes", "cone"),
    [
        ("1\n3", PSD(3)),
        ("1\n1", PSD(1)),
        ("1\n-3", Product((Nonnegative(3),))),
        ("2\n1 -1", Product((PSD(1), Nonnegative(1)))),
    ],
)
def test_cones(read, sizes, cone):
    problem = read(f"1\n{sizes}\n0\n")
    assert problem.cone == cone
    assert problem.cost.shape == cone.shape
    assert not rows_of(problem).any()


HABITS = {
    "comments": '"one"\n* two\n  "three\n\n*\n' + MANUAL,
    "no comment": MANUAL.split("\n", 1)[1],
    "comment in Latin-1": b'"Universit\xe4t\n' + MANUAL.encode(),
    "byte order mark": b"\xef\xbb\xbf" + MANUAL.encode(),
    "blank lines": MANUAL.replace("\n", "\n\n \t\n"),
    "lines of Windows": MANUAL.replace("\n", "\r\n"),
    "lines of old Macs": MANUAL.replace("\n", "\r"),
    "no last newline": MANUAL.rstrip(),
    "no blank before =": MANUAL.replace("  =  ", "="),
    "text with numbers": MANUAL.replace("=  mDIM", "= mDIM, 3 matrices"),
    "text after c": MANUAL.replace("20}", "20} = c"),
    "plus signs": MANUAL.replace("3  =", "+3  =").replace(" 10\n", " +10\n"),
    "sizes in braces": MANUAL.replace("   2  =", "{(2)},"),
    "c over lines": MANUAL.replace("{48, -8, 20}", "{48,\n\n-8\n 20\n}"),
    "c without braces": MANUAL.replace("{48, -8, 20}", "48 -8 20"),
    "Fortran": MANUAL.replace("48,", "0.48D+02,").replace(" 23\n", " 2.3d1\n"),
    "exponents": MANUAL.replace("48,", "480E-1,").replace(" 23\n", " .23e+2\n"),
    "braces around entries": MANUAL.replace("0 1 2 2 23", "{0, (1), 2,2, 23.}"),
    "lower triangle": MANUAL.replace("1 1 1 2 4", "1 1 2 1 4"),
    "explicit zeros": MANUAL + "2 1 1 1 0\n3 1 1 1 -0.0\n0 1 1 2 0e5\n",
    "any order": "\n".join([*MANUAL.split("\n")[:5], *MANUAL.split("\n")[:4:-1]]),
}


@pytest.mark.parametrize("habit", HABITS)
def test_habits(read, habit):
    assert_same(read(HABITS[habit]), read(MANUAL))


def test_zeros_are_not_stored(read):
    assert read(HABITS["explicit zeros"]).constraints.norms().tolist() == pytest.approx(
        read(MANUAL).constraints.norms().tolist()
    )
    assert not np.signbit(read(HABITS["explicit zeros"]).cost[0, 1])


def test_sizes_over_lines(read):
    assert_same(read(EXAMPLE_2.replace("(2, 3, -2)", "(2,\n3,\n-2)")), read(EXAMPLE_2))


@pytest.mark.parametrize(("suffix", "pack"), [(".gz", gzip.compress), (".XZ", lzma.compress)])
def test_compressed_files(read, suffix, pack):
    assert_same(read(pack(EXAMPLE_2.encode()), f"x.dat-s{suffix}"), read(EXAMPLE_2))


def test_several_gzip_members(read):
    head, tail = EXAMPLE_2[:70].encode(), EXAMPLE_2[70:].encode()
    both = gzip.compress(head) + gzip.compress(tail)
    assert_same(read(both, "x.dat-s.gz"), read(EXAMPLE_2))


# Errors of reading

HEAD = "1 = m\n2\n2 -3\n5.0\n"  # lines 1 to 4
WRONG = {
    "empty": ("", 1, "the file ends here, with 0 of 1 numbers (m); expected m, the number"),
    "blank": (" \n\n", 1, "the file ends here, with 0 of 1 numbers (m)"),
    "comments only": ('"a"\n* b\n', 2, "the file ends here, with 0 of 1 numbers (m)"),
    "no blocks": ("* a\n3\n", 2, "ends here, with 0 of 1 numbers (number of blocks)"),
    "no sizes": ("3\n2\n", 2, "ends here, with 0 of 2 numbers (block size)"),
    "few sizes": ("3\n2\n4\n", 3, "ends here, with 1 of 2 numbers (block size)"),
    "no c": ("3\n1\n2\n\n\n", 3, "ends here, with 0 of 3 numbers (value of c)"),
    "few c": ("3\n1\n2\n48,\n-8\n", 5, "ends here, with 2 of 3 numbers (value of c)"),
    "text for m": ("abc\n", 1, "'abc' is given as m; expected a positive integer; correct it"),
    "m not whole": ("3.5\n", 1, "'3.5' is given as m; expected a positive integer"),
    "m zero": ("* a\n\n0\n", 3, "'0' is given as m; expected a positive integer"),
    "m negative": ("-2\n", 1, "'-2' is given as m; expected a positive integer"),
    "m enormous": ("9" * 5000, 1, "is given as m; expected a positive integer"),
    "two m": ("3 1\n2\n", 1, "'1' follows the last m; expected 1 in all; correct the count"),
    "no block at all": ("3\n0\n", 2, "'0' is given as number of blocks; expected a positive"),
    "text for a size": ("3\n2\n2 x\n", 3, "'x' is given as block size; expected an integer"),
    "size zero": ("3\n2\n2 0\n", 3, "'0' is given as block size; expected an integer, negative"),
    "size not whole": ("3\n1\n2.5\n", 3, "'2.5' is given as block size"),
    "many sizes": ("3\n1\n2 3\n", 3, "'3' follows the last block size; expected 1 in all"),
    "enormous sizes": ("3\n1\n4000000000\n", 3, "blocks of up to 4000000000 rows are given"),
    "text in c": ("3\n1\n2\n48\n-8 x 20\n", 5, "'x' is given as value of c; expected a finite"),
    "NaN in c": ("3\n1\n2\n48\nNaN 20\n", 5, "'NaN' is given as value of c; expected a finite"),
    "infinite c": ("3\n1\n2\n48 -8 1D999\n", 4, "'1D999' is given as value of c; expected a fin"),
    "many c": ("3\n1\n2\n1 2 3 4\n", 4, "'4' follows the last value of c; expected 3 in all"),
    "text for a value": (
        HEAD + "\n0 1 1 1 one\n",
        6,
        "'one' is given where a number is due; expected five numbers",
    ),
    "underscores": (HEAD + "0 1 1 1 1_0\n", 5, "'1_0' is given where a number is due"),
    "text behind": (HEAD + "0 1 1 1 2 two\n", 5, "'two' is given where a number is due"),
    "accents": (HEAD + "0 1 1 1 ２\n", 5, "'２' is given where a number is due"),
    "late comment": (HEAD + "0 1 1 1 2\n* note\n", 6, "'*' is given where a number is due"),
    "four numbers": (
        HEAD + "0 1 1 1 2\n\n0 1 1 2\n1 1 1 1 1\n",
        7,
        "4 numbers are given (0 1 1 2); expected five numbers `matrix block row column value`; "
        "correct or complete the line",
    ),
    "four numbers always": (HEAD + "0 1 1 1\n0 1 1 2\n", 5, "4 numbers are given (0 1 1 1)"),
    "four and six": (HEAD + "0 1 1 1\n2 0 1 2 2 1\n", 5, "4 numbers are given (0 1 1 1)"),
    "six numbers": (HEAD + "0 1 1 1 1 1\n", 5, "6 numbers are given (0 1 1 1 1 1)"),
    "cut short": (HEAD + "0 1 1 1 1\n1 2", 6, "2 numbers are given (1 2)"),
    "NaN": (HEAD + "0 1 1 1 nan\n", 5, "the entry (0 1 1 1 nan) has value nan; expected a finite"),
    "infinity": (HEAD + "0 1 1 1 -Infinity\n", 5, "has value -Infinity; expected a finite number"),
    "overflow": (HEAD + "0 1 1 1 1e999\n", 5, "has value 1e999; expected a finite number"),
    "matrix above": (
        HEAD + "0 1 1 1 1\n\n2 1 1 1 1\n",
        7,
        "the entry (2 1 1 1 1) has matrix 2; expected one of 0 (for F0) to m=1; correct the line",
    ),
    "matrix below": (HEAD + "-1 1 1 1 1\n", 5, "has matrix -1; expected one of 0"),
    "matrix not whole": (HEAD + "0.5 1 1 1 1\n", 5, "has matrix 0.5; expected one of 0"),
    "matrix NaN": (HEAD + "nan 1 1 1 1\n", 5, "has matrix nan; expected one of 0"),
    "block above": (HEAD + "0 3 1 1 1\n", 5, "has block 3; expected one of 1 to 2"),
    "block zero": (HEAD + "0 0 1 1 1\n", 5, "has block 0; expected one of 1 to 2"),
    "block enormous": (HEAD + "0 1e300 1 1 1\n", 5, "has block 1e300; expected one of 1 to 2"),
    "row above": (HEAD + "0 1 3 1 1\n", 5, "has row 3; expected one of 1 to 2, the size of the"),
    "row zero": (HEAD + "0 2 0 1 1\n", 5, "has row 0; expected one of 1 to 3, the size of the"),
    "column above": (HEAD + "0 2 1 4 1\n", 5, "has column 4; expected one of 1 to 3, the size"),
    "column zero": (HEAD + "{0, 1, 1, 0, 1}\n", 5, "the entry (0 1 1 0 1) has column 0; expected"),
    "off the diagonal": (
        HEAD + "0 2 1 1 1\n0 2 1 2 0\n",
        6,
        "has column 2; expected 1, its row: the block is diagonal; correct the line",
    ),
    "twice": (
        HEAD + "1 2 3 3 1\n0 1 1 1 1\n\n1 2 3 3 2\n",
        8,
        "the entry (1 2 3 3 2) is given on line 5 already; expected each entry once",
    ),
    "both triangles": (HEAD + "0 1 1 2 1\n0 1 2 1 1\n", 6, "(0 1 2 1 1) is given on line 5"),
    "zero twice": (HEAD + "0 1 1 1 1\n0 1 1 1 0\n", 6, "is given on line 5 already"),
    "three times": (HEAD + 3 * "0 1 1 1 1\n", 6, "is given on line 5 already"),
    "binary": (b"3\n1\n\x00\x01", 3, "the byte b'\\x00' is found; expected text; give an SDPA"),
    "gz without suffix": (gzip.compress(b"3\n1\n"), 1, "let its name end in .gz or .xz"),
    "xz without suffix": (lzma.compress(b"3\n1\n"), 1, "let its name end in .gz or .xz"),
    "UTF-16": ("3\n1\n".encode("utf-16"), 1, "expected text"),
    "a long m": (100_000 * "7" + "\n", 1, f"line 1: '{300 * '7'}...' is given as m; expected"),
    "a long row": (HEAD + f"0 1 {5000 * '8'} 1 1\n", 5, "8... 1 1) has row 8"),
    "a long text": (HEAD + f"0 1 {5000 * 'x'} 1 1\n", 5, f"'{300 * 'x'}...' is given where a"),
}


@pytest.mark.parametrize("case", WRONG)
def test_errors_name_the_line(read, tmp_path, case):
    text, line, message = WRONG[case]
    with pytest.raises(SDPAError, match=re.escape(message)) as caught:
        read(text)
    assert str(caught.value).startswith(f"{tmp_path / 'given.dat-s'}, line {line}: ")
    assert str(caught.value).count(";") >= 2  # given, expected, what to do
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(("suffix", "pack"), [(".gz", gzip.compress), (".xz", lzma.compress)])
@pytest.mark.parametrize("part", [0.05, 0.5, 0.9, 0.999])
def test_a_truncated_stream_is_an_error(read, suffix, pack, part):
    entries = "".join(f"1 1 {i} {i} {i**0.5!r}\n" for i in range(1, 8001))
    whole = pack(f"1\n1\n8000\n1\n{entries}".encode())
    with pytest.raises(SDPAError, match=f"line \\d+: the compressed data end .*{suffix}") as caught:
        read(whole[: int(part * len(whole))], f"x.dat-s{suffix}")
    line = int(re.search(r"line (\d+):", str(caught.value))[1])
    assert line <= 8005
    if part > 0.4 and suffix == ".gz":
        assert line / 8005 == pytest.approx(part, abs=0.2)


@pytest.mark.parametrize("suffix", [".gz", ".xz"])
@pytest.mark.parametrize("content", [b"3\n1\n2\n", b"", b"\x1f\x8b\x08\x00damaged, not gzip"])
def test_a_stream_that_is_none_is_an_error(read, suffix, content):
    with pytest.raises(SDPAError, match=r"line 1: the (compressed data|file) end"):
        read(content, f"x.dat-s{suffix}")


def test_a_damaged_stream_is_an_error(read):
    whole = bytearray(gzip.compress(EXAMPLE_2.encode()))
    whole[-6] ^= 0xFF  # the check sum
    with pytest.raises(SDPAError, match=r"damaged here \(CRC"):
        read(bytes(whole), "x.dat-s.gz")


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz"])
def test_a_missing_file_is_an_ordinary_error(tmp_path, suffix):
    with pytest.raises(FileNotFoundError, match="nothing"):
        read_sdpa(tmp_path / f"nothing.dat-s{suffix}")


@settings(max_examples=150, deadline=None)
@given(text=st.text('0123456789.-+eEdDnN,(){}= \n"*\t', max_size=60))
def test_any_text_is_read_or_refused(tmp_path_factory, text):
    """No other error, whatever stands there; bulk and line by line agree on what a number is."""
    path = tmp_path_factory.mktemp("any") / "x.dat-s"
    path.write_text(f"2\n1\n2\n1 1\n{text}\n")
    message = ""
    try:
        read_sdpa(path)
    except SDPAError as error:
        message = str(error)
    assert "the entries end here" not in message  # the line is always found


# Writing

NUMBERS = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300)


@st.composite
def problems(draw):
    """A plain SDP with any blocks, any finite numbers, and many zeros."""
    sizes = draw(st.lists(st.integers(-4, 4).filter(bool), min_size=1, max_size=4))
    m = draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    pool = np.array([0.0, *draw(st.lists(NUMBERS, min_size=1, max_size=8))])

    def element():
        parts = []
        for size in sizes:
            A = rng.choice(pool, (abs(size), abs(size)))
            parts.append((np.triu(A) + np.triu(A, 1).T).ravel() if size > 0 else np.diag(A))
        return np.concatenate(parts)

    cone = Product(tuple(PSD(n) if n > 0 else Nonnegative(-n) for n in sizes))
    if len(sizes) == 1 and sizes[0] > 0:
        cone = cone.cones[0]
    rows = sp.csr_array(np.array([element() for _ in range(m)]))
    cost = element().reshape(cone.shape)
    loss = Equal(rng.choice(pool, m))
    return FrobeniusSDP(Sparse(rows, cone), loss, cost, sigma=np.inf, cone=cone)


@settings(max_examples=40, deadline=None)
@given(problem=problems(), suffix=st.sampled_from(["", ".gz", ".xz"]), comment=st.text(max_size=9))
def test_a_round_trip_is_exact(tmp_path_factory, problem, suffix, comment):
    path = tmp_path_factory.mktemp("round") / f"x.dat-s{suffix}"
    write_sdpa(problem, path, comment=comment)
    assert_same(read_sdpa(path), problem)


def plain(constraints, loss, **options):
    return FrobeniusSDP(constraints, loss, cone=constraints.cone, **{"sigma": np.inf, **options})


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz"])
def test_what_is_written(tmp_path, suffix):
    cone = Product((PSD(2), Nonnegative(1)))
    rows = sp.csr_array([[1.0, 0.1, 0.1, 0, 0], [0, 0, 0, 1e-300, -3.0]])
    cost = np.array([0, 2.5, 2.5, 0, 1 / 3])
    path = tmp_path / f"x.dat-s{suffix}"
    write_sdpa(
        plain(Sparse(rows, cone), Equal(np.array([1.0, -2e-7])), cost=cost),
        path,
        comment="first\nsecond: ä\x00",
    )
    text = {"": bytes, ".gz": gzip.decompress, ".xz": lzma.decompress}[suffix](path.read_bytes())
    assert text.decode() == (
        "* first\n* second: ä \n2\n2\n2 -1\n1.0 -2e-07\n"
        "0 1 1 2 -2.5\n0 2 1 1 -0.3333333333333333\n"
        "1 1 1 1 1.0\n1 1 1 2 0.1\n2 1 2 2 1e-300\n2 2 1 1 -3.0\n"
    )


def test_a_nonnegative_cone_is_one_diagonal_block(tmp_path):
    rows = Sparse(sp.csr_array([[1.0, 2.0]]), Nonnegative(2))
    write_sdpa(plain(rows, Equal(np.ones(1)), cost=np.array([1.0, 0])), tmp_path / "x")
    problem = read_sdpa(tmp_path / "x")
    assert problem.cone == Product((Nonnegative(2),))
    np.testing.assert_array_equal(problem.cost, [1.0, 0])


def inequality_problem(rng):
    """Rows of all senses, met with room to spare by some M; bounded, for the cost is positive."""
    rows = blocks(rng, 6)
    inside = np.concatenate([np.eye(3).ravel(), np.eye(2).ravel(), np.ones(2)])
    target = rows.forward(inside) + np.array([-0.3, -0.2, 0, 0, 0.1, 0.5])
    loss = Mixed((AtLeast(target[:2]), Equal(target[2:4]), AtMost(target[4:])))
    return plain(rows, loss, cost=inside)


def test_each_row_has_its_own_sense(rng, tmp_path):
    target = np.array([1.0, -2.0, 3.0, 0.0])
    write_sdpa(plain(blocks(rng, 4), Hard(target, np.array([-1, 0, 1, -1]))), tmp_path / "x")
    problem = read_sdpa(tmp_path / "x")
    np.testing.assert_array_equal(problem.loss.target, target)
    np.testing.assert_array_equal(
        rows_of(problem)[:, -3:], [[1, 0, 0], [0, 0, 0], [0, -1, 0], [0, 0, 1]]
    )


def test_inequalities_get_slacks(rng, tmp_path):
    problem = inequality_problem(rng)
    path = tmp_path / "x.dat-s"
    write_sdpa(problem, path, comment="mine")
    slacked = read_sdpa(path)
    assert path.read_text().split("\n")[:2] == [
        "* mine",
        "* block 4 holds the slacks of the inequality rows, in their order",
    ]
    assert slacked.cone == Product((*problem.cone.cones, Nonnegative(4)))
    expected = np.zeros((6, 4))
    expected[[0, 1, 4, 5], range(4)] = [-1, -1, 1, 1]
    np.testing.assert_array_equal(rows_of(slacked)[:, -4:], expected)
    np.testing.assert_array_equal(rows_of(slacked)[:, :-4], rows_of(problem))
    np.testing.assert_array_equal(slacked.cost, [*problem.cost, 0, 0, 0, 0])
    np.testing.assert_array_equal(
        slacked.loss.target, np.concatenate([part.target for part in problem.loss.parts])
    )
    assert optimum(slacked) == pytest.approx(optimum(problem), rel=1e-6)


def test_slacks_on_a_single_matrix(rng, tmp_path):
    rows = Sparse.from_matrices([symmetric(rng, 3), np.eye(3)])
    write_sdpa(plain(rows, AtMost(np.ones(2)), cost=-np.eye(3)), tmp_path / "x")
    assert read_sdpa(tmp_path / "x").cone == Product((PSD(3), Nonnegative(2)))


def test_rounding_in_the_rows_is_no_asymmetry(rng, tmp_path):
    A = symmetric(rng, 4)
    B = A.copy()
    B[2, 1] *= 1 + 4e-16
    assert B[2, 1] != A[2, 1]
    write_sdpa(plain(Sparse.from_matrices([B]), Equal(np.ones(1))), tmp_path / "x")
    np.testing.assert_allclose(rows_of(read_sdpa(tmp_path / "x"))[0], A.ravel(), rtol=1e-15)


def test_rows_stay_as_they_were(rng, tmp_path):
    """Duplicate and explicit zero entries of the caller's matrix are summed in a copy."""
    entries = ([1.0, 2.0, 0.0, 3.0], ([0, 0, 0, 0], [0, 0, 1, 3]))
    rows = sp.csr_array((entries[0], entries[1][1], [0, 4]), shape=(1, 4))
    write_sdpa(plain(Sparse(rows, PSD(2)), Equal(np.ones(1))), tmp_path / "x")
    np.testing.assert_array_equal(rows_of(read_sdpa(tmp_path / "x")), [[3, 0, 0, 3]])
    assert rows.data.tolist() == entries[0]


TWO = Sparse.from_matrices([np.eye(2), np.ones((2, 2))])
ONES = np.ones(2)
REFUSED = {
    "Pairs": (
        FrobeniusSDP(Pairs(np.eye(2), np.array([[0, 1]])), Equal(np.ones(1)), sigma=np.inf),
        "the constraints are Pairs; .* sparse matrix: give them as Sparse",
    ),
    "sigma": (plain(TWO, Equal(ONES), sigma=2.0), r"sigma=2\.0; .* set sigma=np\.inf"),
    "prior": (plain(TWO, Equal(ONES), prior=np.eye(2)), "the prior is not zero; .* leave it out"),
    "offset": (plain(TWO, Equal(ONES), offset=3.0), r"offset=3\.0; .* set it to 0"),
    "hinge": (plain(TWO, Hinge(ONES)), "row 0 of the loss Hinge is soft; .* use Equal, AtLeast"),
    "smoothed": (plain(TWO, SmoothedHinge(ONES)), "row 0 of the loss SmoothedHinge is soft"),
    "squared": (plain(TWO, SquaredHinge(ONES)), "row 0 of the loss SquaredHinge is soft"),
    "one soft row": (
        plain(TWO, Mixed((Equal(ONES[:1]), Hinge(ONES[:1])))),
        "row 1 of the loss Mixed is soft",
    ),
    "one squared row": (
        plain(TWO, Mixed((AtMost(ONES[:1]), SquaredHinge(ONES[:1])))),
        "row 1 of the loss Mixed",
    ),
    "one row without weight": (
        plain(TWO, Mixed((AtMost(ONES[:1]), Hinge(0 * ONES[:1])))),
        "row 1 of the loss Mixed",
    ),
    "asymmetric row": (
        plain(Sparse.from_matrices([np.eye(2), np.array([[0, 1.0], [0, 0]])]), Equal(ONES)),
        "row 1 of the constraints is not a symmetric matrix; .* give",
    ),
    "asymmetric cost": (
        plain(TWO, Equal(ONES), cost=np.array([[0, 1.0], [-1.0, 0]])),
        "the cost is not a symmetric matrix",
    ),
    "no rows": (plain(TWO.restrict([]), Equal(ONES[:0])), "no rows; an SDPA file needs one"),
    "empty block": (
        plain(Sparse(sp.csr_array((1, 4)), Product((PSD(2), Nonnegative(0)))), Equal(ONES[:1])),
        r"the block Nonnegative\(n=0\); .* n > 0",
    ),
    "two cones": (
        FrobeniusSDP(Sparse(TWO.rows, Nonnegative(4)), Equal(ONES), sigma=np.inf, cone=PSD(2)),
        r"rows on Nonnegative\(n=4\), cone PSD\(n=2\); they must be the same",
    ),
    "a face": (
        FrobeniusSDP(TWO, Equal(ONES), sigma=np.inf, cone=Face(np.eye(2)[:, :1])),
        r"the block Face\((.|\n)*; SDPA has PSD",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_a_file_cannot_hold_is_refused(tmp_path, case):
    problem, message = REFUSED[case]
    with pytest.raises((TypeError, ValueError), match=message):
        write_sdpa(problem, tmp_path / "x.dat-s")
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "x.dat-s.gz"
    write_sdpa(plain(TWO, Equal(ONES)), path)
    before = path.read_bytes()

    def fail(*args):
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="no space left"):
        write_sdpa(plain(TWO, Equal(2 * ONES)), path)
    assert os.listdir(tmp_path) == [path.name]
    assert path.read_bytes() == before
    monkeypatch.undo()
    write_sdpa(plain(TWO, Equal(2 * ONES)), path)
    assert read_sdpa(path).loss.target.tolist() == [2, 2]


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere does not exist; create it"):
        write_sdpa(plain(TWO, Equal(ONES)), tmp_path / "nowhere" / "x.dat-s")


# Answers

INFEASIBLE_X = "1\n1\n2\n-1\n0 1 1 1 1\n1 1 1 1 1\n"  # X_11 = -1


def test_an_answer_has_the_signs_of_the_format(read):
    solution = solve_sdp(read(MANUAL), tol=1e-8)
    answer = SDPAAnswer.from_solution(solution)
    np.testing.assert_allclose(answer.x, [-1.1, -2.7375, -0.55], atol=1e-4)
    np.testing.assert_allclose(answer.X[0], [[5.9, -1.375], [-1.375, 1]], atol=1e-4)
    assert sdpa_objectives(solution.certificate) == pytest.approx((-41.9, -41.9), abs=1e-4)
    report = answer.as_dict()
    assert (report["primal"], report["dual"]) == sdpa_objectives(solution.certificate)
    assert report["bound"] == -solution.certificate.bound


def test_statuses_exchange_primal_and_dual(read):
    solution = solve_sdp(read(INFEASIBLE_X))
    assert solution.status == "primal_infeasible"
    report = SDPAAnswer.from_solution(solution).as_dict()
    assert report["status"] == "dual_infeasible"
    assert report["primal"] is report["dual"] is report["bound"] is report["sigma"] is None
    assert {status: sdpa_status(status) for status in STATUSES} == {
        **dict.fromkeys(STATUSES, "not_converged"),
        "optimal": "optimal",
        "primal_infeasible": "dual_infeasible",
        "dual_infeasible": "primal_infeasible",
    }


def test_diagonal_blocks_of_an_answer_are_diagonals(read, tmp_path):
    answer = SDPAAnswer.from_solution(
        solve_sdp(read("1\n1\n-2\n1\n0 1 1 1 1\n1 1 1 1 1\n1 1 2 2 1\n"))
    )
    answer.write(tmp_path / "answer")
    x, *entries = (tmp_path / "answer").read_text().splitlines()
    assert [float(x)] == answer.x.tolist()
    assert {tuple(line.split()[:4]) for line in entries} <= {
        (matrix, "1", i, i) for matrix in "12" for i in "12"
    }
    np.testing.assert_allclose(answer.X[0], [1, 0], atol=1e-5)


# SDPLIB


@pytest.fixture(scope="module")
def sdplib(data_folder):
    folder = data_folder / "sdplib"
    if not (folder / "problems.csv").is_file():
        pytest.skip(f"needs SDPLIB (problems.csv and *.dat-s.xz; looked at {folder})")
    return folder


@pytest.fixture(scope="module")
def listed(sdplib):
    with open(sdplib / "problems.csv", newline="") as file:
        return {row["problem"]: row for row in csv.DictReader(file)}


def sizes_of(cone):
    cones = getattr(cone, "cones", (cone,))
    return [part.n if len(part.shape) == 2 else -part.n for part in cones]


@pytest.mark.slow
def test_sdplib_reads(sdplib, listed):
    paths = sorted(sdplib.glob("*.dat-s.xz"))
    assert paths
    for path in paths:
        problem, row = read_sdpa(path), listed[path.name.removesuffix(".dat-s.xz")]
        sizes = sizes_of(problem.cone)
        assert problem.constraints.shape[0] == int(row["m"]), path
        assert sizes == [int(size) for size in row["block_sizes"].split()], path
        assert sum(map(abs, sizes)) == int(row["n"]), path


@pytest.mark.parametrize("name", ["truss1", "hinf1", "qap5", "arch0", "thetaG51"])
def test_sdplib_round_trips(sdplib, tmp_path, name):
    problem = read_sdpa(sdplib / f"{name}.dat-s.xz")
    write_sdpa(problem, tmp_path / "x.dat-s.gz")
    again = read_sdpa(tmp_path / "x.dat-s.gz")
    assert again.cone == problem.cone
    np.testing.assert_array_equal(again.cost, problem.cost)
    np.testing.assert_array_equal(again.loss.target, problem.loss.target)
    assert (again.constraints.rows != problem.constraints.rows).nnz == 0


@pytest.mark.parametrize("name", ["truss1", "truss3"])
def test_sdplib_optimum_is_minus_ours(sdplib, listed, name):
    value = -optimum(read_sdpa(sdplib / f"{name}.dat-s.xz"))
    assert value == pytest.approx(float(listed[name]["sdplib_optimum"]), rel=1e-5)
