"""Time of a linear layer: weights read at few rows, arithmetic at many.

It does not know which matrices a model has.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

ROW_KNOTS = (8, 16, 64, 128, 256)
"""Rows at which the catalog states a latency relative to 8 rows or fewer."""
BUCKET_WEIGHTS = (16.8e6, 55.6e6, 168e6)
"""Weight elements of the median matrix measured in each bucket of the catalog: 8–33 M, 33–134 M, above.

Source: aiconfigurator vLLM GEMM tables (shared/measured/kernels/gemm_vllm.parquet), median n × k within each bucket.
"""


def interpolate(x: float, knots: Sequence[float], values: Sequence[float]) -> float:
    """Piecewise-linear value at x, continued with the slope of the outer segments.

    >>> interpolate(3.0, (1.0, 2.0), (10.0, 20.0))
    30.0
    """
    i = min(max(bisect_right(knots, x) - 1, 0), len(knots) - 2)
    slope = (values[i + 1] - values[i]) / (knots[i + 1] - knots[i])
    return values[i] + slope * (x - knots[i])


def weight_read_s(weight_bytes: float, fraction: float, bandwidth_bytes_per_s: float) -> float:
    """Seconds in which a linear layer at few rows reads its weights: W / (f · BW).

    weight_bytes: bytes of the matrix W on one GPU. [bytes]
    fraction: share f of the bandwidth that matrices of this size reach. [0 to 1]
    bandwidth_bytes_per_s: datasheet bandwidth BW. [bytes/s]

    >>> round(weight_read_s(67.1e6, 0.53, 4.8e12) * 1e6, 1)
    26.4

    Williams, Waterman, Patterson, "Roofline", CACM 2009, with the measured share of the bandwidth.
    """
    return weight_bytes / (fraction * bandwidth_bytes_per_s)


def compute_s(weights: float, rows: float, flop_per_s: float) -> float:
    """Seconds of the multiply-adds of a linear layer: 2 W n / F.

    weights: elements W of the matrix on one GPU. [elements]
    rows: tokens n that pass through it. [rows]
    flop_per_s: rate F that the tensor cores reach. [FLOP/s]

    >>> round(compute_s(67.1e6, 2048, 1095e12) * 1e6, 1)
    251.0

    Williams, Waterman, Patterson, "Roofline", CACM 2009.
    """
    return 2.0 * weights * rows / flop_per_s


def row_factor(rows: float, ratios: Sequence[float]) -> float:
    """Latency at `rows` ÷ latency at 8 rows or fewer, while weight reading still bounds it; constant from 256 rows on.

    rows: tokens that pass through the matrix. [rows]
    ratios: latency ratios at 8, 16, 64, 128, 256 rows, never falling. [1]

    >>> row_factor(96, (1.0, 1.0, 1.05, 1.15, 1.51))
    1.1

    Measured: aiconfigurator vLLM GEMM tables; beyond 256 rows `compute_s` takes over.
    """
    return interpolate(min(max(rows, ROW_KNOTS[0]), ROW_KNOTS[-1]), ROW_KNOTS, ratios)


def running_max(values: Sequence[float]) -> tuple[float, ...]:
    """The values, each at least the ones before: removes falls that are measurement noise.

    >>> running_max((1.0, 0.99, 1.2))
    (1.0, 1.0, 1.2)
    """
    out: list[float] = []
    for value in values:
        out.append(max(value, out[-1]) if out else value)
    return tuple(out)


@dataclass(frozen=True, slots=True)
class LinearCurve:
    """How long one engine's linear kernels of one compute dtype take on one GPU."""

    read_bytes: tuple[float, ...]
    """Sizes of the three measured buckets [bytes]."""
    read_s: tuple[float, ...]
    """Latency at 8 rows or fewer of those sizes [s], never falling."""
    row_ratios: tuple[float, ...]
    """Latency at 8, 16, 64, 128, 256 rows relative to 8."""
    flop_per_s: float
    """Rate at many rows [FLOP/s]."""
    bandwidth_bytes_per_s: float
    """Datasheet bandwidth: no extrapolation is faster."""
    floor_s: float
    """Shortest time of a kernel [s]."""

    def reading_s(self, weight_bytes: float) -> float:
        """Seconds at few rows: linear in size between the buckets' medians, with the outer slopes beyond them.

        The latency, not the fraction, is interpolated: it stays monotone in size, and a small matrix tends to the
        launch latency that the smaller buckets imply, never below the kernel floor.
        """
        estimate = interpolate(weight_bytes, self.read_bytes, self.read_s)
        beyond = max(0.0, weight_bytes - self.read_bytes[-1])
        least = self.read_s[-1] + beyond / self.bandwidth_bytes_per_s if beyond else self.floor_s
        return max(estimate, least, weight_bytes / self.bandwidth_bytes_per_s)

    def gemm_s(self, weights: float, weight_bytes: float, rows: float) -> float:
        """Seconds of one linear layer with `weights` elements of `weight_bytes` at `rows` tokens."""
        if rows <= 0:
            return 0.0
        reading = self.reading_s(weight_bytes) * row_factor(rows, self.row_ratios)
        return max(reading, compute_s(weights, rows, self.flop_per_s))


def linear_curve(
    bandwidth_fraction: Sequence[float],
    row_latency_ratio: Sequence[float],
    flop_per_s: float,
    bytes_per_weight: float,
    bandwidth_bytes_per_s: float,
    floor_s: float,
) -> LinearCurve:
    """The curve of measured efficiencies.

    bandwidth_fraction: share of the bandwidth in the three size buckets. [0 to 1]
    row_latency_ratio: latency at 16, 64, 128, 256 rows ÷ at 8 or fewer. [1]
    flop_per_s: rate at many rows. [FLOP/s]
    bytes_per_weight: of the dtype that was measured. [bytes]
    bandwidth_bytes_per_s: datasheet bandwidth. [bytes/s]
    floor_s: shortest time of a kernel. [s]
    """
    sizes = tuple(weights * bytes_per_weight for weights in BUCKET_WEIGHTS)
    seconds = [
        weight_read_s(size, fraction, bandwidth_bytes_per_s)
        for size, fraction in zip(sizes, bandwidth_fraction, strict=True)
    ]
    ratios = running_max((1.0, *row_latency_ratio))
    return LinearCurve(sizes, running_max(seconds), ratios, flop_per_s, bandwidth_bytes_per_s, floor_s)
