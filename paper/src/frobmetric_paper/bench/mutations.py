"""Mutants of a Python source: the source with one small change.

An operator, a comparison, a constant or a function is replaced, a sign or a statement removed, a
condition turned round. Texts with spaces, such as messages, stay.
"""

from __future__ import annotations

import ast
from functools import partial
from itertools import takewhile

#: Operators and comparisons, and what replaces them.
SWAPS = {
    "Add": "Sub",
    "Sub": "Add",
    "Mult": "Div",
    "Div": "Mult",
    "FloorDiv": "Mult",
    "Pow": "Mult",
}
SWAPS |= {"LShift": "RShift", "RShift": "LShift", "BitAnd": "BitOr", "BitOr": "BitAnd"}
SWAPS |= {"MatMult": "Mult", "And": "Or", "Or": "And", "Lt": "LtE", "LtE": "Lt", "Gt": "GtE"}
SWAPS |= {"GtE": "Gt", "Eq": "NotEq", "NotEq": "Eq", "Is": "IsNot", "IsNot": "Is", "In": "NotIn"}
#: Functions, and what replaces them.
NAMES = {"max": "min", "min": "max", "maximum": "minimum", "minimum": "maximum", "all": "any"}
NAMES |= {
    "any": "all",
    "rint": "floor",
    "nextafter": "copysign",
    "sqrt": "abs",
    "allclose": "equal",
}
#: Characters that a description shows on both sides of a change.
CONTEXT = 40


def changes(node):
    """Yield functions that change a node in place."""
    if isinstance(node, (ast.BinOp, ast.AugAssign, ast.BoolOp)) and _kind(node.op) in SWAPS:
        yield lambda: setattr(node, "op", getattr(ast, SWAPS[_kind(node.op)])())
    if isinstance(node, ast.Compare):
        for i, op in enumerate(node.ops):
            if _kind(op) in SWAPS:
                yield partial(node.ops.__setitem__, i, getattr(ast, SWAPS[_kind(op)])())
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield lambda: setattr(node, "value", not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        yield lambda: setattr(node, "value", node.value + 1)
    elif isinstance(node, ast.Constant) and isinstance(node.value, float):
        yield lambda: setattr(node, "value", 2 * node.value + 1)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield lambda: setattr(node, "value", node.value + "?")
    if isinstance(node, (ast.Name, ast.Attribute)):
        field = "id" if isinstance(node, ast.Name) else "attr"
        if getattr(node, field) in NAMES:
            yield lambda: setattr(node, field, NAMES[getattr(node, field)])
    if isinstance(node, (ast.If, ast.While, ast.IfExp)):
        yield lambda: setattr(node, "test", ast.UnaryOp(ast.Not(), node.test))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not)):
        plain = ast.UAdd() if isinstance(node.op, ast.USub) else None
        yield partial(setattr, node, "op", plain) if plain else partial(_drop_not, node)
    if isinstance(node, ast.Return) and node.value is not None:
        yield lambda: setattr(node, "value", ast.Constant(None))
    if isinstance(node, (ast.Expr, ast.AugAssign)):
        yield lambda: _become_pass(node)


def _kind(op):
    return type(op).__name__


def _drop_not(node):
    node.op, node.operand = ast.Not(), ast.UnaryOp(ast.Not(), node.operand)


def _become_pass(node):
    node.__class__ = ast.Pass
    node._fields = ()


def places(tree, functions):
    """Return all nodes to mutate, each with the name of its function and its statement."""
    found = []

    def visit(node, scope, statement):
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns", "decorator_list"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if not isinstance(child, ast.AST) or _is_text(child):
                    continue
                inner = child.name if isinstance(child, (ast.FunctionDef, ast.ClassDef)) else scope
                own = child if isinstance(child, ast.stmt) else statement
                if functions is None or inner in functions:
                    found.append((child, inner, own))
                visit(child, inner, own)

    visit(tree, "", None)
    return found


def _is_text(node):
    """Return whether a node is a docstring, a message or an import."""
    node = node.value if isinstance(node, ast.Expr) else node
    is_message = isinstance(node, ast.Constant) and " " in str(node.value)
    return is_message or isinstance(node, (ast.JoinedStr, ast.Import, ast.ImportFrom))


def mutants(source, functions=None, share=slice(None)):
    """Yield a share of the mutants of a source: the change in words, and the changed source."""
    counts = [len(list(changes(node))) for node, _, _ in places(ast.parse(source), functions)]
    every = [(number, which) for number, count in enumerate(counts) for which in range(count)]
    for number, which in every[share]:
        tree = ast.parse(source)
        node, scope, statement = places(tree, functions)[number]
        before = ast.unparse(statement)
        list(changes(node))[which]()
        after = ast.unparse(ast.fix_missing_locations(statement))
        yield f"{scope}: {_difference(before, after)}", ast.unparse(tree)


def _difference(before, after):
    """Return the first line that differs, before and after the change."""
    lines = zip(before.splitlines(), after.splitlines(), strict=False)
    old, new = next(pair for pair in lines if pair[0] != pair[1])
    start, end = (
        max(0, _n_equal(*pair) - CONTEXT) for pair in ((old, new), (old[::-1], new[::-1]))
    )
    return f"{old[start : len(old) - end].strip()} -> {new[start : len(new) - end].strip()}"


def _n_equal(a, b):
    """Return the number of characters with which both texts begin."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))
