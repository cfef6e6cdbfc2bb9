"""The answer of an SDPA file as a file: CSDP's text, or arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._atomic import replacing
from ..core import Product


@dataclass(frozen=True)
class SDPAnswer:
    """x, X and Z as the SDPA format has them: Z = sum x_i F_i - F0, and <F_i, X> = c_i.

    Attributes
    ----------
    x : ndarray of shape (m,)
    X, Z : lists of ndarrays
        One for each block of the file; of a diagonal block the diagonal.
    """

    x: np.ndarray
    X: list[np.ndarray]
    Z: list[np.ndarray]

    @classmethod
    def of(cls, solution):
        """That of an `SDPSolution`; if the problem has none, the ray that proves so."""
        problem, ray = solution.problem, solution.ray
        y, X, Z = solution.y, solution.X, solution.Z
        if ray is not None and ray.kind == "primal_infeasible":
            y, X, Z = ray.vector, np.zeros_like(X), -problem.constraints.adjoint(ray.vector)
        elif ray is not None:
            y, X, Z = np.zeros_like(y), ray.vector, np.zeros_like(Z)
        cone = problem.cone
        cut = cone.cut if isinstance(cone, Product) else lambda whole: [whole]
        return cls(0.0 - y, cut(X), cut(Z))  # 0 - y: no minus zero

    def write(self, path):
        """As arrays if the name ends in .npz, as CSDP's text otherwise."""
        write = self._write_npz if path.suffix.lower() == ".npz" else self._write_csdp
        with replacing(path) as file:
            write(file)

    def _write_npz(self, file):
        named = ((name, getattr(self, name)) for name in "XZ")
        blocks = {f"{name}{k}": A for name, cut in named for k, A in enumerate(cut, 1)}
        np.savez(file, x=self.x, **blocks)

    def _write_csdp(self, file):
        """A line of x, then `1 block i j value` for Z and `2 block i j value` for X."""
        file.write((" ".join(map(repr, self.x.tolist())) + "\n").encode())
        for number, blocks in ((1, self.Z), (2, self.X)):
            for k, block in enumerate(blocks, 1):
                file.writelines(_lines(f"{number} {k}", block))


def _lines(head, block):
    """The entries of an upper triangle that are not 0; reading `repr` of a float gives it back."""
    places = np.nonzero(np.triu(block) if block.ndim == 2 else block)
    i, j = places if len(places) == 2 else 2 * places
    columns = ((i + 1).tolist(), (j + 1).tolist(), block[places].tolist())
    for row, column, value in zip(*columns, strict=True):
        yield f"{head} {row} {column} {value!r}\n".encode()
