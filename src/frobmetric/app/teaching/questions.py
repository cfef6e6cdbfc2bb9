"""Choice of the next question: the one whose answer tells most about all other questions.

A question (a, b, c) asks which of b and c is more like a. The answer is modelled as logistic in
<A, M>, where A = (a - c)(a - c)' - (a - b)(a - b)', divided by its norm: people find two large
differences as hard to tell apart as two small ones. M is Gaussian around a multiple of the
identity, and its posterior given the answers is taken as Gaussian too (Laplace's approximation).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

#: Margin of the prior metric in units of its deviation, and deviation of the entries of M.
SLOPE, DEVIATION = 1.5, 0.5
#: Numbers of candidates, and of other questions whose answers a candidate should tell.
N_CANDIDATES, N_TARGETS = 800, 1000
#: Number of questions, drawn to be enough, from which all questions are listed instead.
FEW = 4000
#: Largest number of steps of Newton's method and of halvings of a step, and the change that ends
#: the steps.
MOST_STEPS, MOST_HALVINGS, SMALL = 20, 10, 1e-6
#: Variance of a standard logistic variable.
LOGISTIC = np.pi**2 / 3


@dataclass(frozen=True, eq=False)
class QuestionSpace:
    """Questions about items Z as vectors, whose margins under the identity deviate by one."""

    Z: np.ndarray
    scale: float = 1.0

    @classmethod
    def of(cls, Z: np.ndarray, questions: np.ndarray) -> Self:
        """Return the space in which the margins of these questions deviate by one."""
        margins = cls(Z).rows(questions) @ cls(Z).identity
        return cls(Z, 1 / max(float(np.std(margins)), SMALL))

    @property
    def identity(self) -> np.ndarray:
        """The identity as a vector."""
        i, j = np.triu_indices(self.Z.shape[1])
        return (i == j).astype(np.float64)

    def rows(self, questions: np.ndarray) -> np.ndarray:
        """Return the upper triangles of the matrices A of questions, all of one norm."""
        rows, size = self._triangles(questions), self.sizes(questions)[:, None]
        return self.scale * np.divide(rows, size, out=np.zeros_like(rows), where=size > 0)

    def sizes(self, questions: np.ndarray) -> np.ndarray:
        """Return the norms of the matrices A of questions."""
        return np.linalg.norm(self._triangles(questions), axis=1)

    def _triangles(self, questions: np.ndarray) -> np.ndarray:
        anchor, left, right = (self.Z[column] for column in np.asarray(questions).T)
        i, j = np.triu_indices(self.Z.shape[1])
        far, near = anchor - right, anchor - left
        rows = far[:, i] * far[:, j] - near[:, i] * near[:, j]
        return rows * np.where(
            i == j, 1.0, np.sqrt(2.0)
        )  # so that products of rows are products of matrices

    def posterior(self, answers: ArrayLike) -> Posterior:
        """Return the posterior given answers (anchor, near, far)."""
        rows = self.rows(np.reshape(answers, (-1, 3)).astype(np.intp))
        return Posterior.given(SLOPE * self.identity, rows)


@dataclass(frozen=True, eq=False)
class Posterior:
    """Gaussian of symmetric matrices M, as vectors of a `QuestionSpace`."""

    mean: np.ndarray
    covariance: np.ndarray

    @classmethod
    def given(cls, prior: np.ndarray, rows: np.ndarray) -> Self:
        """Return the posterior given answers: <A, M> > 0 for each of these rows."""
        mean = prior
        for _ in range(MOST_STEPS if len(rows) else 0):
            step = np.linalg.solve(_curvature(rows, mean), -_slope(rows, mean, prior))
            mean = _descend(rows, mean, prior, step)
            if np.abs(step).max() < SMALL * np.abs(mean).max():
                break
        return cls(mean, np.linalg.inv(_curvature(rows, mean)))

    def value(self, rows: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Return the expected information of the answers to questions about the targets.

        It is the expected fall of the variance of <A, M> over the targets, each weighted by how
        undecided it is: V-optimal design.
        """
        spread = rows @ self.covariance
        margin, variance = rows @ self.mean, np.einsum("ij,ij->i", spread, rows)
        noise = 1 / _uncertainty(margin / np.sqrt(1 + variance / LOGISTIC))
        of_targets = np.einsum("ij,ij->i", targets @ self.covariance, targets) + LOGISTIC
        undecided = np.exp(-((targets @ self.mean) ** 2) / (2 * of_targets)) / np.sqrt(of_targets)
        return ((spread @ targets.T) ** 2 @ undecided) / (noise + variance)


def draw_questions(rng: np.random.Generator, kinds: np.ndarray, n: int) -> np.ndarray:
    """Return up to n different questions of items of different kinds, with b and c in any order.

    `kinds` has a number for each item; items of one kind are equal.
    """
    n_items = len(kinds)
    if n_items * (n_items - 1) * (n_items - 2) <= FEW:
        drawn = np.array([*np.ndindex(n_items, n_items, n_items)])
        drawn = rng.permutation(drawn)
    else:
        drawn = rng.integers(n_items, size=(2 * n + 100, 3))
    a, b, c = kinds[drawn].T
    drawn = drawn[(a != b) & (a != c) & (b != c)]
    _, first = np.unique(question_keys(drawn, n_items), return_index=True)
    return drawn[np.sort(first)[:n]]


def question_keys(questions: ArrayLike, n_items: int) -> np.ndarray:
    """Return a number for each question, the same for (a, b, c) and (a, c, b)."""
    anchor, b, c = np.asarray(questions, dtype=np.int64).reshape(-1, 3).T
    return (anchor * n_items + np.minimum(b, c)) * n_items + np.maximum(b, c)


def _uncertainty(margin: np.ndarray) -> np.ndarray:
    """Return p (1 - p) of a logistic answer, which is positive."""
    return np.maximum(expit(margin) * expit(-margin), 1e-12)


def _curvature(rows: np.ndarray, mean: np.ndarray) -> np.ndarray:
    weight = _uncertainty(rows @ mean)
    return (rows * weight[:, None]).T @ rows + np.eye(len(mean)) / DEVIATION**2


def _slope(rows: np.ndarray, mean: np.ndarray, prior: np.ndarray) -> np.ndarray:
    return (mean - prior) / DEVIATION**2 - rows.T @ expit(-(rows @ mean))


def _loss(rows: np.ndarray, mean: np.ndarray, prior: np.ndarray) -> float:
    return np.logaddexp(0, -(rows @ mean)).sum() + np.sum((mean - prior) ** 2) / DEVIATION**2 / 2


def _descend(rows: np.ndarray, mean: np.ndarray, prior: np.ndarray, step: np.ndarray) -> np.ndarray:
    """Return the mean after a step, halved until the loss does not rise."""
    before = _loss(rows, mean, prior)
    for k in range(MOST_HALVINGS):
        after = mean + step / 2**k
        if _loss(rows, after, prior) <= before:
            return after
    return mean
