"""Linear layers from a measured profile: every matrix interpolated in its shape once, then summed over the model."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from simulator.physics.linear import interpolate
from simulator.spec.profile import LinearTable


class RowsCurve(NamedTuple):
    """Seconds by rows of matrix products run one after the other, between knots linear."""

    rows: tuple[float, ...]
    graph_s: tuple[float, ...]
    """Inside a CUDA graph, where launch gaps are gone."""
    eager_s: tuple[float, ...]
    reading_s: float
    """At one row: reading the weights."""
    operators: int

    def seconds(self, rows: int, eager: bool) -> float:
        """Seconds at so many rows; below the first knot its seconds, beyond the last its slope."""
        return interpolate(max(float(rows), self.rows[0]), self.rows, self.eager_s if eager else self.graph_s)


class Product(NamedTuple):
    """One kind of matrix product of a model on one GPU."""

    layers: int
    """Times that it runs in a pass."""
    outputs: float
    inputs: float
    bytes: float
    """Of its weights."""


def rows_curve(products: Sequence[tuple[LinearTable, Product]], bandwidth_bytes_per_s: float) -> RowsCurve:
    """The sum of all products of a model.

    What a graph leaves of a latency when the launch gap is taken off is at least reading the weights.
    bandwidth_bytes_per_s: datasheet bandwidth.
    """
    rows = sorted({m for table, _ in products for m in table.rows})
    graph, eager = [0.0] * len(rows), [0.0] * len(rows)
    reading = 0.0
    for table, product in products:
        curve = shape_s(table, product.outputs, product.inputs)
        least = product.bytes / bandwidth_bytes_per_s
        gap_s = table.launch_gap_us * 1e-6
        reading += product.layers * max(least, curve[0] - gap_s)
        for i, m in enumerate(rows):
            sustained = 2e-12 * product.outputs * product.inputs * m / table.sustained_tflops
            measured = max(least, interpolate(float(m), table.rows, curve), sustained)
            eager[i] += product.layers * measured
            graph[i] += product.layers * max(least, measured - gap_s)
    operators = sum(product.layers for _, product in products)
    return RowsCurve(tuple(map(float, rows)), tuple(graph), tuple(eager), reading, operators)


def shape_s(table: LinearTable, outputs: float, inputs: float) -> list[float]:
    """Seconds at the table's rows for one shape: bilinear in outputs and inputs.

    Below the smallest size the smallest, so a tiny matrix costs a launch. Beyond the largest in proportion: matrices of
    65,536 outputs and more are bound by bandwidth or arithmetic alone.
    """
    n, k = min(outputs, float(table.outputs[-1])), min(inputs, float(table.inputs[-1]))
    beyond = outputs / n * inputs / k
    i, a = _place(table.outputs, n)
    j, b = _place(table.inputs, k)
    corners = (
        ((1 - a) * (1 - b), table.us[i][j]),
        ((1 - a) * b, table.us[i][j + 1]),
        (a * (1 - b), table.us[i + 1][j]),
        (a * b, table.us[i + 1][j + 1]),
    )
    return [1e-6 * beyond * sum(w * us[r] for w, us in corners) for r in range(len(table.rows))]


def outside(table: LinearTable, outputs: float, inputs: float) -> bool:
    """Whether a shape lies beyond what was measured."""
    return outputs > table.outputs[-1] or inputs > table.inputs[-1]


def _place(knots: Sequence[int], x: float) -> tuple[int, float]:
    i = min(max(bisect_right(knots, x) - 1, 0), len(knots) - 2)
    return i, (max(x, float(knots[0])) - knots[i]) / (knots[i + 1] - knots[i])
