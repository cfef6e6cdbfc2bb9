"""Tampered model files: bytes, texts and numbers changed, with the old seal or with a new one.

With the old seal, a file whose meaning changed must not load. Who seals a file again can write what
he likes, but `certify`, with the training data and labels, must then find every change of the map
or of the problem whose solution it is said to be. A parameter that no data decide, such as C, is
part of the statement: if the metric is optimal for the changed one too, and the objectives in the
file are those of that problem, the file says what is true. Exact arithmetic decides that.
"""

from __future__ import annotations

import json
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from frobmetric.io import load, save
from frobmetric.io.sealed import SEAL, seal_of
from frobmetric.model.agreement import disagreements

from . import Attack, Findings, choose
from .victims import make_victims

#: Parts of the recipe of a fit that say which problem was solved.
ASKED = ("C", "loss", "pull", "prior", "kernel", "n_neighbors", "n_impostors")
#: Fitted attributes that say what its solution is.
CLAIMS = (
    *("components_", "scale_", "rank_", "n_triplets_", "units_", "feature_weight_", "gamma_"),
    *("prior_factor_", "classes_", "n_directions_", "unit_", "X_fit_"),
)
#: Claims that no data decide: the file states them, and is right if the metric is optimal for them.
FREE = {"C", "pull"}
#: Largest difference of a stated objective from the true one, relative to it.
STATED = 1e-6
#: Relative change of a claim that is no rounding, in double and in single precision.
CHANGE = {np.dtype(np.float64): 2e-7, np.dtype(np.float32): 1e-6}
#: Relative change of the map of a BoostMetric, which is proven as it stands, that cannot be seen.
SMALL = 1e-4
#: Relative difference of eigenvalues below which their vectors may be any of the span.
EQUAL = 1e-3
#: Values that take the place of others in a header.
VALUES = (
    None,
    True,
    -1,
    0,
    1,
    2,
    17,
    1e-9,
    0.5,
    1e300,
    10**40,
    "",
    "frog",
    "rbf",
    [],
    {},
    [1, "a"],
)
VALUES += (
    {"float": "nan"},
    {"float": "inf"},
    {"array": ["value.components", "C"]},
    {"array": ["no", "F"]},
    {"tuple": [1]},
    {"Recipe": {}},
    "\x00\x1b",
)


@dataclass
class Content:
    """Tensors and texts of a file."""

    tensors: dict[str, np.ndarray]
    header: dict[str, str]

    @classmethod
    def read(cls, path):
        """Return the content of a file."""
        from safetensors import safe_open

        with safe_open(path, framework="np") as file:
            names = list(file.keys())
            return cls({name: np.array(file.get_tensor(name)) for name in names}, file.metadata())

    def to_bytes(self, *, is_sealed):
        """Return the file; if `is_sealed`, with a seal of its own in place of the old one."""
        from safetensors.numpy import save as as_bytes

        if is_sealed:
            self.header[SEAL] = seal_of(self.tensors, self.header)
        return as_bytes(
            {name: np.ascontiguousarray(array) for name, array in self.tensors.items()}, self.header
        )


def change_bytes(rng, content):
    """Return the bytes of a file with one to three of them changed."""
    data = bytearray(content.to_bytes(is_sealed=False))
    for place in rng.integers(len(data), size=rng.integers(1, 4)):
        data[place] ^= rng.integers(1, 256)
    return bytes(data)


def cut_bytes(rng, content):
    """Return the bytes of a file with some removed, repeated or added."""
    data = content.to_bytes(is_sealed=False)
    start, stop = sorted(rng.integers(len(data) + 1, size=2))
    options = [data[:stop], data[start:], data[:start] + data[stop:], data + data[start:stop]]
    return options[rng.integers(len(options))]


def change_spaces(rng, content):
    """Write white space into a part of the header, which changes no meaning but the seal."""
    name = choose(rng, [key for key in content.header if content.header[key][:1] in "{["])
    content.header[name] = json.dumps(json.loads(content.header[name]), indent=2)


def change_text(rng, content):
    """Drop, cut, replace or add a text of the header."""
    name = choose(rng, sorted(content.header))
    match rng.integers(4):
        case 0:
            del content.header[name]
        case 1:
            content.header[name] = content.header[name][
                : rng.integers(len(content.header[name]) + 1)
            ]
        case 2:
            content.header[name] = choose(rng, ["", "{}", "[]", "null", "frog", "3", "{" * 2000])
        case _:
            content.header[choose(rng, ["extra", "output", "value", "seal"])] = '{"a": 1}'


def change_value(rng, content):
    """Change one value inside a JSON part of the header."""
    name = choose(rng, sorted(key for key in content.header if content.header[key][:1] in "{["))
    part = json.loads(content.header[name])
    holder, key = _place(rng, part)
    if holder is None:
        content.header[name] = json.dumps(choose(rng, VALUES))
        return
    old = holder[key]
    if rng.random() < 0.15:
        del holder[key]
    elif isinstance(old, (int, float)) and not isinstance(old, bool) and rng.random() < 0.6:
        holder[key] = old * choose(rng, [1 + 1e-6, 1.01, 2, 1000, -1]) + (old == 0)
        holder[key] = int(holder[key]) if isinstance(old, int) else holder[key]
    elif isinstance(holder, dict) and rng.random() < 0.15:
        holder[choose(rng, ["extra", "C ", "__class__", "Recipe"])] = old
    else:
        holder[key] = choose(rng, VALUES)
    content.header[name] = json.dumps(part)


def change_numbers(rng, content):
    """Scale, permute, or replace numbers of a tensor."""
    name = choose(rng, sorted(content.tensors))
    array = content.tensors[name].copy()
    if not array.size:
        return
    match rng.integers(4):
        case 0:
            array = (array * choose(rng, [1 + 1e-6, 1 + 1e-4, 1.01, 2.0])).astype(array.dtype)
        case 1:
            array = rng.permutation(array, axis=rng.integers(array.ndim))
        case 2:
            value = choose(rng, [0, 1, -1, 1e30, np.nan, np.inf, array.ravel()[0]])
            with np.errstate(invalid="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                array.flat[rng.integers(array.size)] = np.array(value).astype(array.dtype)
        case _:
            place = rng.integers(array.size)
            array.flat[place] = (array.ravel()[place] * 1.01 + 1).astype(array.dtype)
    content.tensors[name] = array


def change_shape(rng, content):
    """Cut, extend, turn, convert, drop or add a tensor."""
    name = choose(rng, sorted(content.tensors))
    array = content.tensors[name]
    match rng.integers(6):
        case 0:
            content.tensors[name] = array[: rng.integers(len(array) + 1)]
        case 1:
            content.tensors[name] = np.concatenate([array, array[:1]])
        case 2:
            content.tensors[name] = array.T if rng.random() < 0.5 else array.ravel()
        case 3:
            kind = choose(rng, [np.float32, np.float16, np.int64, np.uint8, np.bool_])
            with np.errstate(all="ignore"):
                content.tensors[name] = array.astype(kind)
        case 4:
            del content.tensors[name]
        case _:
            content.tensors[choose(rng, ["extra", "value.components", "parameters.prior"])] = array


EDITS = {
    "bytes": change_bytes,
    "cut": cut_bytes,
    "white space": change_spaces,
    "texts": change_text,
    "values": change_value,
    "numbers": change_numbers,
    "shapes": change_shape,
}


def attack_files(count, seed):
    """Return what loading and proving tampered files of all classes gives."""
    rng, found = np.random.default_rng(seed), Findings()
    victims = make_victims(seed)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path, originals = Path(folder) / "model.safetensors", {}
        for name, victim in victims.items():
            save(victim.model, path)
            originals[name] = path.read_bytes(), Original(load(path), victim)
        for number in range(count):
            name = choose(rng, sorted(originals))
            data, original = originals[name]
            path.write_bytes(data)
            content = Content.read(path)
            edit = choose(rng, sorted(EDITS))
            is_sealed = edit not in ("bytes", "cut") and rng.random() < 0.6
            written = EDITS[edit](rng, content) or content.to_bytes(is_sealed=is_sealed)
            path.write_bytes(written)
            kind = f"{edit}, {'sealed again' if is_sealed else 'old seal'}"
            outcome, is_right = original.judge(path, data == written)
            if is_right:
                found.add(kind, outcome)
            else:
                place = f"attack_files(..., seed={seed}), number {number}, model {name!r}"
                found.add_defect(kind, outcome, place)
    return found


class Original:
    """A model as it was saved, with what `certify` says of it."""

    def __init__(self, model, victim):
        self.model, self.victim = model, victim
        self.mapped = model.transform(victim.X)
        self.is_certified = self._certified(model) if victim.prove else False

    def judge(self, path, is_same):
        """Return the outcome of loading and proving a file, and whether it may be so."""
        try:
            loaded = load(path)
        except ValueError as error:
            is_clear = str(path) in str(error) and len(str(error)) < 2000
            return ("refused by load" if is_clear else f"unclear: {error!s:.200}"), is_clear
        except BaseException as error:
            return f"{type(error).__name__} of load: {error!s:.200}", False
        if is_same:
            return "nothing changed", True
        return self._judge_loaded(path, loaded)

    def _judge_loaded(self, path, loaded):
        """Return the outcome for a file that loads."""
        changed = self._changed(loaded)
        if self.victim.prove is None or not hasattr(loaded, "dual_coef_"):
            return self._judge_unproven(loaded, changed)
        try:
            is_certified = self._certified(loaded)
        except ValueError:
            return "found by certify", True
        except BaseException as error:
            return f"{type(error).__name__} of certify: {error!s:.200}", False
        if not is_certified:
            return "not certified", True
        if changed and hasattr(loaded, "corrective") and change_of_map(self, loaded) < SMALL:
            return "certified as it stands: the map is not that of the dual variables", True
        if changed and is_other_basis(self, loaded):
            return "certified: the same metric in another basis of an eigenspace", True
        if changed and set(changed) <= FREE and self._is_true(loaded):
            return "certified: the metric is optimal for the changed parameter too", True
        if changed or not self.is_certified:
            return f"certified although changed: {changed or 'not certified before'}", False
        return "certified, and no claim changed", True

    def _judge_unproven(self, loaded, changed):
        """Return the outcome for a file without dual variables: it must work, or say why not."""
        try:
            loaded.transform(self.victim.X)
        except ValueError:
            return "no proof to check; refused by transform", True
        except BaseException as error:
            return f"{type(error).__name__} of transform: {error!s:.200}", False
        return f"no proof to check; {'changed' if changed else 'no claim changed'}", True

    def _certified(self, model):
        """Return what the command `certify` says."""
        proof = self.victim.prove(model)
        differing = disagreements(model.certificate_, proof, model.history_)
        return not differing and proof.is_within(model.map_.run.tol)

    def _is_true(self, loaded):
        """Return whether the objectives in a file are those of the problem that it states.

        They are compared with bounds in exact arithmetic, which must prove optimality too.
        """
        if self.victim.prove_exactly is None:
            return False
        stated, proof = loaded.certificate_, self.victim.prove_exactly(loaded)
        allowed = STATED * max(abs(proof.primal), abs(proof.dual))
        away = max(abs(stated.primal - proof.primal), abs(stated.dual - proof.dual))
        return bool(away <= allowed and proof.is_within(loaded.map_.run.tol))

    def _changed(self, loaded):
        """Return the names of the claims that differ by more than rounding."""
        is_polynomial = getattr(self.model, "kernel", None) == "polynomial"
        asked = ASKED + ("degree", "coef0") * is_polynomial
        asked = asked if getattr(loaded.map_, "recipe", None) is not None else ()
        names = [n for n in CLAIMS if hasattr(loaded, n)]  # what is missing claims nothing
        names += asked
        both = {n: [_claim(each, n) for each in (self.model, loaded)] for n in names}
        changed = [name for name, values in both.items() if not _is_same(*values)]
        try:
            if not _is_same(self.mapped, np.asarray(loaded.transform(self.victim.X))):
                changed.append("transform")
        except Exception:  # a loaded model that cannot map is changed
            changed.append("transform")
        return changed


def change_of_map(original, loaded):
    """Return the relative change of a map, infinity if anything else than the map changed."""
    if set(original._changed(loaded)) - {"components_", "transform"}:
        return np.inf
    old, new = original.model.components_, loaded.components_
    return np.abs(new - old).max() / np.abs(old).max() if old.shape == new.shape else np.inf


def is_other_basis(original, loaded):
    """Return whether only rows of the map changed that have one eigenvalue, and not the metric.

    Such rows may be any orthogonal ones of their span.
    """
    if set(original._changed(loaded)) - {"components_", "transform"}:
        return False
    old, new = original.model.components_, loaded.components_
    if old.shape != new.shape or not _is_same(old.T @ old, new.T @ new):
        return False
    prior = getattr(original.model, "prior_factor_", np.eye(old.shape[1]))
    values = np.sum(np.linalg.lstsq(prior, old.T, rcond=None)[0] ** 2, axis=0)
    moved = values[~np.isclose(old, new, rtol=1e-6, atol=0).all(axis=1)]
    return bool(moved.size and np.ptp(moved) <= EQUAL * values.max())


def _claim(model, name):
    """Return a claim of a model; the prior, of which any factor may be given."""
    holder = model if name.endswith("_") else model.map_.recipe
    value = getattr(holder, name, None)
    is_factor = name == "prior_factor_" and getattr(value, "ndim", 0) == 2
    return value @ value.T if is_factor else value


def _is_same(a, b):
    """Return whether two values are equal to rounding."""
    if type(a) is not type(b) and not (np.isscalar(a) and np.isscalar(b)):
        return False
    if isinstance(a, np.ndarray) and a.dtype.kind == "f":
        limit = CHANGE[a.dtype] * np.abs(a).max(initial=0.0)
        return a.shape == b.shape and np.allclose(a, b, rtol=0, atol=limit)
    if isinstance(a, np.ndarray):
        return np.array_equal(a, b)
    if isinstance(a, float) and isinstance(b, (int, float)):
        return bool(np.isclose(a, b, rtol=1e-7, atol=0))
    return a == b


def _place(rng, part):
    """Return a list or dictionary inside a part, and the key of one of its values."""
    holder, key = None, None
    while isinstance(part, (dict, list)) and part and (holder is None or rng.random() < 0.8):
        key = choose(rng, sorted(part)) if isinstance(part, dict) else int(rng.integers(len(part)))
        holder, part = part, part[key]
    return holder, key


ATTACKS = [Attack("tampering", attack_files, short=150, long=5000)]
