"""Mutants: each is one change of a source, and the functions that others have imported change."""

import types
from pathlib import Path

from frobmetric_paper.bench import mutants, reasons
from frobmetric_paper.bench.mutations import mutants as mutants_of

SOURCE = '''"""Text that stays."""
LIMIT = 3


def total(numbers, start=0):
    """Return their sum."""
    if not numbers:
        raise ValueError("no numbers, no sum")
    for number in numbers:
        start += -number if number < LIMIT else max(number, 2.5)
    return start
'''


def test_each_mutant_is_one_change():
    found = dict(mutants_of(SOURCE))
    descriptions = " | ".join(found)
    assert ": LIMIT = 3 -> LIMIT = 4" in found
    assert "total: return start -> return None" in found
    for part in ("start -= -number", "start += +number", "number <= LIMIT", "min(number", "6.0"):
        assert part in descriptions
    assert "?" not in descriptions  # messages and docstrings are no constants
    assert len(set(found.values())) == len(found)
    for source in found.values():
        compile(source, "mutant", "exec")


def test_shares_and_functions():
    every = list(mutants_of(SOURCE))
    assert [*mutants_of(SOURCE, None, slice(1, None, 3))] == every[1::3]
    inside = [text for text, _ in mutants_of(SOURCE, ("total",))]
    assert inside == [text for text, _ in every if text.startswith("total: ")]


def test_swapped_code_reaches_those_who_imported_it(tmp_path):
    module = types.ModuleType("sums")
    exec(SOURCE, vars(module))
    imported = module.total
    assert imported([1, 5]) == 4
    path = Path(tmp_path, "mutant.py")
    mutants.swap(module, SOURCE.replace("-number", "+number").replace("start=0", "start=1"), path)
    assert imported([1, 5]) == 7
    mutants.swap(module, SOURCE.replace("LIMIT = 3", "LIMIT = 9"), path)
    assert imported([1, 5]) == -6
    assert module.__file__ == str(path)


def test_page_has_a_reason_for_each_survivor():
    data = {"one": {"file": "a.py", "mutants": 200, "survivors": ["x -> y"]}}
    found = mutants.page(data)
    assert found["share"] == "1 of 200 mutants survive (0.5 %)"
    assert found["survivors"][0]["reason"] == "not explained"
    assert all(reason.endswith(".") for reason in reasons("mutants").values())
