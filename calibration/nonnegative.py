"""Least squares with coefficients that are not negative, robust against outliers: tables of steps are fitted so."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
OUTLIER = 2.5
"""Residual, in robust standard deviations, from which a measurement loses weight (Huber)."""
ROUNDS = 20
"""Times that weights are taken anew; they have settled by then."""


def nonnegative_least_squares(a: Floats, b: Floats) -> Floats:
    r"""The x that is nowhere negative and comes nearest to b.

    .. math:: \min_{x \ge 0} \lVert A x - b \rVert_2

    >>> nonnegative_least_squares(np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([2.0, 1.0])).round(6).tolist()
    [1.5, 0.0]

    Lawson, Hanson, "Solving Least Squares Problems", 1974, chapter 23.
    """
    scale = np.linalg.norm(a, axis=0)
    scale[scale == 0.0] = 1.0
    a = a / scale
    x = np.zeros(a.shape[1])
    free = np.zeros(a.shape[1], dtype=bool)
    limit = 1e-10 * max(float(np.abs(a.T @ b).max(initial=0.0)), 1e-300)
    for _ in range(10 * a.shape[1]):
        gradient = a.T @ (b - a @ x)
        gradient[free] = -np.inf
        best = int(np.argmax(gradient))
        if gradient[best] <= limit:
            break
        free[best] = True
        x = _inner(a, b, x, free)
    return np.asarray(x / scale)


def _inner(a: Floats, b: Floats, x: Floats, free: NDArray[np.bool_]) -> Floats:
    """Least squares over the free coefficients; those that would turn negative are taken out again."""
    while True:
        wanted = np.zeros_like(x)
        wanted[free] = np.linalg.lstsq(a[:, free], b, rcond=None)[0]
        bad = free & (wanted <= 0.0)
        if not bad.any():
            return wanted
        share = float(np.min(x[bad] / np.maximum(x[bad] - wanted[bad], 1e-300)))
        x = x + share * (wanted - x)
        free &= x > 1e-15
        x[~free] = 0.0


def robust_fit(a: Floats, b: Floats, weights: Floats) -> Floats:
    """Nonnegative least squares on weighted residuals, measurements far off losing weight.

    weights: what each residual is multiplied by, such as 1 ÷ the measured value.

    >>> x = np.linspace(1.0, 2.0, 21); y = 3.0 * x; y[4] = 300.0
    >>> robust_fit(x[:, None], y, 1.0 / x).round(3).tolist()
    [3.0]
    """
    trust = np.ones_like(b)
    x = np.zeros(a.shape[1])
    for _ in range(ROUNDS):
        weight = weights * trust
        x = nonnegative_least_squares(a * weight[:, None], b * weight)
        residuals = np.abs((a @ x - b) * weights)
        spread = max(1.4826 * float(np.median(residuals)), 1e-12)
        trust = np.sqrt(np.minimum(1.0, OUTLIER * spread / np.maximum(residuals, 1e-300)))
    return x


def hats(values: Floats, knots: Floats) -> Floats:
    """Weights of the knots in a piecewise-linear curve at each value; beyond the ends the outer knot's.

    >>> hats(np.array([1.0, 3.0, 9.0]), np.array([2.0, 4.0])).tolist()
    [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]
    """
    return np.stack([np.interp(values, knots, unit) for unit in np.eye(len(knots))], axis=1)


def never_falling(basis: Floats) -> Floats:
    """The same curve by its rises: with coefficients that are not negative it never falls.

    >>> never_falling(np.array([[1.0, 0.0], [0.0, 1.0]])).tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """
    return np.asarray(np.cumsum(basis[:, ::-1], axis=1)[:, ::-1])


def thinned(values: Floats, ratio: float) -> Floats:
    """Distinct values at least a ratio apart, the first and the last kept.

    >>> thinned(np.array([1.0, 2.0, 2.2, 4.0, 4.1]), 1.3).tolist()
    [1.0, 2.0, 4.1]
    """
    found = np.unique(values)
    kept = [found[0]]
    for value in found[1:-1]:
        if value >= ratio * kept[-1] and value * ratio <= found[-1]:
            kept.append(value)
    return np.array([*kept, *found[1:][-1:]])
