"""The verifier: it computes what it defines, exactly, and refuses what proves nothing."""

import math
import subprocess
import sys
import zipfile
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frobmetric import verify
from frobmetric.verify import LARGEST, MOST_TERMS, SHAPES, ProofError, carry, convolve, join, split

LOSSES = ("hinge", "smoothed_hinge", "squared_hinge")


def make_proof(seed=0, loss="hinge", n=7, D=3, m=9, rank=2, exponents=3):
    """Return an arbitrary proof with numbers of many sizes, and the widest claim."""
    rng = np.random.default_rng(seed)

    def numbers(*shape):
        size = np.exp2(rng.integers(-exponents, exponents + 1, shape))
        return rng.choice([0.0, 1.0], shape, p=[0.1, 0.9]) * rng.normal(size=shape) * size

    weight = np.abs(numbers(m))
    proof = {
        "points": numbers(n, D),
        "rows": rng.integers(0, n, (m, 4)),
        "weight": weight,
        "target": numbers(m),
        "u": weight * rng.choice([0.0, 0.3, 1.0], m),
        "cost": numbers(D, D),
        "prior": numbers(D, D),
        "factor": numbers(D, rank),
        "dual_factor": numbers(D, rank + 1),
        "smoothing": np.array(rng.uniform(0.1, 2.0)),
        "sigma": np.array(rng.uniform(0.1, 2.0)),
        "offset": numbers(1)[0],
        "loss": np.array(loss),
        "claim": np.array([-LARGEST, LARGEST]),
    }
    return {name: np.asarray(value) for name, value in proof.items()}


def fractions(array):
    return np.frompyfunc(lambda x: Fraction(float(x)), 1, 1)(array)


def loss_of(proof, w, x):
    """Return the loss of a row at x = max(0, t - v)."""
    s = Fraction(float(proof["smoothing"]))
    kind = str(proof["loss"])
    if kind == "hinge":
        return w * x
    if kind == "squared_hinge":
        return w * x * x
    return w * x * x / (2 * s) if x <= s else w * (x - s / 2)


def by_definition(proof):
    """Return dual and primal as the docstring of the verifier defines them, with fractions only."""
    X, L, F, C, P = (
        fractions(proof[name]) for name in ("points", "factor", "dual_factor", "cost", "prior")
    )
    sigma, offset, s = (Fraction(float(proof[name])) for name in ("sigma", "offset", "smoothing"))
    k = {"hinge": 0, "smoothed_hinge": s / 2, "squared_hinge": Fraction(1, 4)}[str(proof["loss"])]
    M, Z = L @ L.T, C - F @ F.T
    primal = dual = offset
    for row, *numbers in zip(
        proof["rows"], *(fractions(proof[name]) for name in ("weight", "target", "u")), strict=True
    ):
        (a, b, c, d), (w, t, u) = X[row], numbers
        A = np.outer(c - d, c - d) - np.outer(a - b, a - b)
        primal += loss_of(proof, w, max(Fraction(0), t - (A * M).sum()))
        Z = Z - u * A
        dual += t * u - (k * u * u / w if u else 0)
    primal += (C * M).sum() + ((M - P) ** 2).sum() / (2 * sigma)
    return dual + (P * Z).sum() - sigma / 2 * (Z * Z).sum(), primal


def is_least_above(number, exact):
    return Fraction(number) >= exact > Fraction(math.nextafter(number, -math.inf))


# Agreement with the definition


@pytest.mark.parametrize("loss", LOSSES)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), exponents=st.sampled_from([0, 3, 40]))
def test_both_bounds_are_those_of_the_definition(loss, seed, exponents):
    proof = make_proof(seed, loss, exponents=exponents)
    found, (dual, primal) = verify.prove(proof), by_definition(proof)
    assert is_least_above(found[1], primal)
    assert found[0] <= dual
    if loss == "hinge":  # nothing is rounded before the end
        assert is_least_above(-found[0], -dual)
    rounded = sum(
        abs(Fraction(float(u)) ** 2 / Fraction(float(w)))
        for u, w in zip(proof["u"], proof["weight"], strict=True)
        if u
    )
    assert dual - Fraction(found[0]) <= abs(dual) / 2**52 + rounded / 2**51


@pytest.mark.parametrize("loss", LOSSES)
def test_many_rows_are_summed_in_blocks(loss, monkeypatch):
    monkeypatch.setattr(verify, "MOST_TERMS", 64)
    proof = make_proof(3, loss, n=40, m=2 * 64 + 7)
    found, (dual, primal) = verify.prove(proof), by_definition(proof)
    assert is_least_above(found[1], primal)
    assert 0 <= dual - Fraction(found[0]) <= abs(dual) / 2**49


@pytest.mark.parametrize("loss", LOSSES)
def test_no_rows_and_no_columns(loss):
    proof = make_proof(1, loss, m=0, rank=0)
    found, (dual, primal) = verify.prove(proof), by_definition(proof)
    assert is_least_above(found[1], primal)
    assert is_least_above(-found[0], -dual)


def test_a_closed_form():
    """min |M|^2/2 + max(0, 1 - <A, M>) with A = diag(1, -1): M = diag(1, 0), value 1/2."""
    zero = np.zeros((2, 2))
    proof = {
        "points": np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]]),
        "rows": np.array([[0, 1, 0, 2]]),
        **dict.fromkeys(("weight", "target", "u"), np.ones(1)),
        **dict.fromkeys(("sigma", "smoothing"), np.array(1.0)),
        **{"cost": zero, "prior": zero, "offset": np.array(0.0), "loss": np.array("hinge")},
        "factor": np.array([[1.0], [0.0]]),
        "dual_factor": np.array([[0.0], [1.0]]),
        "claim": np.array([0.5, 0.5]),
    }
    assert verify.verify(proof) == (0.5, 0.5)
    assert verify.prove(proof | {"offset": np.array(2.0)}) == (2.5, 2.5)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-LARGEST, LARGEST), min_size=1, max_size=6))
def test_digits_are_exact(values):
    values = np.array(values)
    digits, e = split(values)
    assert all((np.abs(digit) <= 2 ** (verify.BITS - 1)).all() for digit in digits)
    assert all((digit == np.rint(digit)).all() for digit in digits)
    expected = [Fraction(value) for value in values.tolist()]
    assert (join(digits) * Fraction(2) ** e).tolist() == expected
    assert verify.exact(values).tolist() == expected
    assert verify.exact(np.zeros(3)).tolist() == [0, 0, 0]


def test_digits_are_as_few_as_possible():
    """The work grows with the number of digits: trailing zeros cost nothing."""
    assert [len(split(np.array(values))[0]) for values in ([1.0], [2.0**600, 0.0])] == [1, 1]
    assert len(split(np.array([2.0**19, 1.0]))[0]) == 2
    assert len(split(np.array([2.0**18, 1.0]))[0]) == 1
    assert split(np.array([0.75, 2.0]))[1] == -2


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-(2**52), 2**52), min_size=1, max_size=5))
def test_carried_digits_are_small_and_equal(numbers):
    digits = [np.array([float(number)]) for number in numbers]
    carried = carry(digits)
    assert join(carried) == join(digits) == sum(n << 20 * k for k, n in enumerate(numbers))
    assert all(abs(digit[0]) <= 2**19 for digit in carried)
    assert len(carried) >= len(digits)


def test_sums_that_could_be_rounded_are_refused():
    one, two = [np.ones(1)], [np.ones(1), np.ones(1)]
    assert convolve(two, one, np.multiply, MOST_TERMS)[1] == 1
    for digits, n_terms in ((one, MOST_TERMS + 1), (two, MOST_TERMS // 2 + 1)):
        with pytest.raises(ProofError, match="may have more than 53 bits"):
            convolve(digits, digits, np.multiply, n_terms)
    # the largest sums that are allowed have room in a float64
    assert MOST_TERMS * 2 ** (2 * verify.BITS) <= 2**52
    assert MOST_TERMS >= 64 * 8


@pytest.mark.parametrize("exponents", [0, 100])
def test_all_sums_of_products_have_at_most_53_bits(exponents, monkeypatch):
    """What `convolve` is told of the number of products is true, and digits are small."""
    lengths, sizes = [], []

    def check(a, b, multiply, n_terms):
        lengths.append((multiply is np.multiply, a[0].shape[-1], n_terms))
        tops = [max(np.abs(digit).max() for digit in digits) for digits in (a, b)]
        sizes.append(n_terms * min(len(a), len(b)) * tops[0] * tops[1])
        return convolve(a, b, multiply, n_terms)

    proof = make_proof(6, "squared_hinge", m=30, exponents=exponents)
    expected = verify.prove(proof)
    monkeypatch.setattr(verify, "convolve", check)
    assert verify.prove(proof) == expected
    assert max(sizes) <= 2**52
    for is_single, length, n_terms in lengths:
        assert n_terms == 1 if is_single else length <= n_terms <= MOST_TERMS
    assert {is_single for is_single, _, _ in lengths} == {True, False}


# Refusals


def refuse(proof, message):
    with pytest.raises(ProofError, match=message):
        verify.verify(proof)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_claim_holds_if_it_contains_what_is_proven(loss):
    proof = make_proof(5, loss)
    dual, primal = verify.prove(proof)
    for claim in ((dual, primal), (dual - 1, primal + 1)):
        assert verify.verify(proof | {"claim": np.array(claim)}) == (dual, primal)
    tighter = (math.nextafter(dual, math.inf), primal), (dual, math.nextafter(primal, -math.inf))
    for claim in tighter:
        refuse(proof | {"claim": np.array(claim)}, r"it claims \[.*, and proves")


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", [name for name in SHAPES if name not in ("loss", "claim")])
def test_every_part_of_the_problem_matters(name, loss):
    proof = make_proof(8, loss, m=20)
    changed = proof[name].copy()
    changed[...] = np.roll(changed, 1, axis=0) if changed.ndim else 0.5 * changed
    if name in ("u", "weight"):  # u stays in its box
        changed = {"u": 0.5, "weight": 2.0}[name] * proof[name]
    is_used = name != "smoothing" or loss == "smoothed_hinge"
    assert (verify.prove(proof | {name: changed}) != verify.prove(proof)) == is_used


@pytest.mark.parametrize("name", [name for name in SHAPES if name not in ("loss", "rows")])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1.01 * LARGEST])
def test_numbers_that_are_none(name, bad):
    proof = make_proof()
    array = proof[name].copy()
    array[(0,) * array.ndim] = bad
    refuse(proof | {name: array}, f"{name} has NaN, or a number beyond 1e\\+300")


@pytest.mark.parametrize("name", SHAPES)
def test_parts_that_do_not_fit(name):
    proof = make_proof()
    array = proof[name]
    refuse({key: value for key, value in proof.items() if key != name}, "it holds .* expected")
    refuse(proof | {"more": np.zeros(1)}, "it holds .*'more'")
    refuse(proof | {name: array[None]}, f"{name} has shape")
    refuse(proof | {name: array.astype(complex if name != "loss" else "S")}, f"{name} has dtype")
    if name in ("weight", "target", "u", "rows", "claim"):
        refuse(proof | {name: array[:-1]}, "has shape .*; expected")
    if name in ("cost", "prior", "factor", "dual_factor"):
        refuse(proof | {name: array[:-1]}, f"{name} has shape .*; expected")
    if array.ndim == 2 and name not in ("factor", "dual_factor"):
        refuse(proof | {name: array[:, :-1]}, "has shape .*; expected")


def test_kinds_of_numbers():
    proof = make_proof()
    refuse(proof | {"rows": proof["rows"].astype(float)}, "rows has dtype float64; expected <i8")
    refuse(proof | {"points": proof["points"].astype(np.float32)}, "dtype float32; expected <f8")
    refuse(proof | {"loss": np.array(1.0)}, "loss has dtype float64; expected <U2")
    refuse(proof | {"loss": np.array("logistic")}, "the loss is 'logistic'; expected one of")
    refuse(proof | {"loss": np.array("")}, "the loss is ''")


@pytest.mark.parametrize("name", ["sigma", "smoothing"])
@pytest.mark.parametrize("value", [0.0, -1.0])
def test_numbers_that_must_be_positive(name, value):
    refuse(make_proof() | {name: np.array(value)}, "sigma or smoothing is not positive")
    verify.prove(make_proof() | {name: np.array(1e-9)})


@pytest.mark.parametrize("index", [-1, 7])
def test_rows_of_points_that_are_not_there(index):
    proof = make_proof(n=7)
    rows = proof["rows"].copy()
    rows[2, 1] = index
    refuse(proof | {"rows": rows}, "rows name other points than 0 to 6")
    rows[2, 1:3] = 0, 6
    verify.prove(proof | {"rows": rows})


@pytest.mark.parametrize("loss", LOSSES)
def test_u_outside_its_box(loss):
    proof = make_proof(2, loss)
    proof["weight"] = np.full(9, 0.5)
    box, outside = "u is outside its box, or a weight is negative", [-5e-324]
    outside += [math.nextafter(0.5, 1)] if loss != "squared_hinge" else []
    for value in (0.0, 0.5):
        verify.prove(proof | {"u": np.full(9, value)})
    for value in outside:
        u = np.full(9, 0.25)
        u[4] = value
        refuse(proof | {"u": u}, box)
    weight = proof["weight"].copy()
    weight[3] = 0.0
    refuse(proof | {"weight": weight, "u": np.full(9, 0.25)}, box)
    weight[3] = -1.0
    refuse(proof | {"weight": weight, "u": np.zeros(9)}, box)
    if loss == "squared_hinge":
        verify.prove(proof | {"u": np.full(9, 1e3)})


def test_bounds_beyond_float64():
    refuse(make_proof() | {"factor": np.full((3, 2), 1e200)}, "beyond the largest float64")


# Files


@pytest.fixture
def path(tmp_path):
    proof = make_proof(4)
    proof["claim"] = np.array(verify.prove(proof))
    np.savez(tmp_path / "proof.npz", **proof)
    return tmp_path / "proof.npz"


def test_a_file_that_holds(path, capsys):
    assert verify.main([str(path)]) == 0
    out, err = capsys.readouterr()
    dual, primal = verify.read(str(path))["claim"].tolist()
    first, second, third = out.splitlines()
    assert first == f"proven: the optimum is in [{dual!r}, {primal!r}]"
    assert second == "points (7, 3), rows (9, 4), loss hinge"
    assert third.startswith("trusted: Python's integers, NumPy's float64 without rounding")
    assert err == ""


def test_a_file_that_does_not_hold(path, capsys):
    proof = verify.read(str(path))
    np.savez(path, **proof | {"claim": proof["claim"] + [1e-9, 0]})
    assert verify.main([str(path)]) == 4
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("NOT proven: this proves nothing: it claims [")
    assert err.count("\n") == 1


def test_wrong_number_of_files(path, capsys):
    for arguments in ([], [str(path), str(path)]):
        assert verify.main(arguments) == 4
        assert "expected the name of one file" in capsys.readouterr().err


def damage(kind, path):
    content = path.read_bytes()
    if kind == "absent":
        path.unlink()
    elif kind == "folder":
        path.unlink()
        path.mkdir()
    elif kind == "pickle":
        np.savez(path, points=np.array([{}], dtype=object))
    elif kind == "text":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("points.npy", "not an array")
    elif kind == "npy":
        with path.open("wb") as file:
            np.save(file, np.zeros(3))
    else:
        path.write_bytes({"empty": b"", "cut": content[:-99], "bytes": b"\x00" * 500}[kind])


@pytest.mark.parametrize(
    "kind", ["absent", "folder", "pickle", "text", "npy", "empty", "cut", "bytes"]
)
def test_files_that_are_no_proofs(kind, path, capsys):
    damage(kind, path)
    assert verify.main([str(path)]) == 4
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("NOT proven: ")
    assert err.count("\n") == 1


def test_a_changed_byte_is_noticed(path):
    content = path.read_bytes()
    position = content.index(b"points.npy") + 200
    path.write_bytes(content[:position] + bytes([content[position] ^ 1]) + content[position + 1 :])
    with pytest.raises(ProofError, match="cannot be read: Bad CRC-32"):
        verify.read(str(path))


class Trap:
    """Object whose pickle creates a file when it is read."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_nothing_in_a_file_is_executed(path, tmp_path):
    np.savez(path, **verify.read(str(path)) | {"offset": np.array(Trap(tmp_path / "trapped"))})
    with pytest.raises(ProofError, match="Object arrays cannot be loaded"):
        verify.read(str(path))
    assert not (tmp_path / "trapped").exists()


def test_files_that_would_take_all_memory(path, monkeypatch):
    with zipfile.ZipFile(path) as archive:
        n_bytes = sum(info.file_size for info in archive.infolist())
    monkeypatch.setattr(verify, "MOST_BYTES", n_bytes)
    assert len(verify.read(str(path))) == len(SHAPES)
    monkeypatch.setattr(verify, "MOST_BYTES", n_bytes - 1)
    with pytest.raises(ProofError, match=r"it would take \d+ bytes of memory"):
        verify.read(str(path))
    monkeypatch.undo()
    assert verify.MOST_BYTES == 2**32


def test_the_file_runs_alone(path, tmp_path):
    """A stranger needs the file and NumPy: it runs from another folder without the library."""
    source = Path(verify.__file__).read_text(encoding="utf-8")
    assert len(source.splitlines()) <= 250
    assert "frobmetric" not in source
    (tmp_path / "copy.py").write_text(source, encoding="utf-8")
    for arguments, code in (([path], 0), ([], 4)):
        command = [sys.executable, "-I", tmp_path / "copy.py", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
        assert done.returncode == code
        assert ("proven: the optimum is in" in done.stdout) == (code == 0)
