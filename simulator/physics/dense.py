"""The dense matrix products of one pass: from a measured profile where it has their weight format, else the catalog."""

from collections.abc import Sequence
from dataclasses import dataclass

from simulator.physics.formats import WeightFormat
from simulator.physics.matrices import Matrix
from simulator.physics.profiled import linear_table
from simulator.physics.profiled_linear import Product, RowsCurve, outside, rows_curve
from simulator.spec.profile import Profile


@dataclass(frozen=True, slots=True)
class Dense:
    """Matrix products run one after the other."""

    measured: RowsCurve | None
    """Those with a table."""
    catalog: tuple[tuple[int, float, WeightFormat], ...]
    """(count, elements on one GPU, format) of the others."""
    derived: tuple[str, ...] = ()
    """What lies beyond the tables."""
    uncalibrated: tuple[str, ...] = ()
    """Weight formats without a table."""
    max_rows: int = 0
    """Most rows measured; 0 without tables."""

    def seconds(self, rows: int, eager: bool) -> float:
        """Seconds at so many rows, in a graph or eagerly."""
        if rows <= 0:
            return 0.0
        seconds = sum(count * weights.gemm_s(size, rows) for count, size, weights in self.catalog)
        return seconds if self.measured is None else seconds + self.measured.seconds(rows, eager)

    @property
    def reading_s(self) -> float:
        """Seconds in which the weights alone are read."""
        read = sum(count * weights.reading_s(size) for count, size, weights in self.catalog)
        return read if self.measured is None else read + self.measured.reading_s

    @property
    def operators(self) -> int:
        """Kernels that are launched."""
        return sum(count for count, _, _ in self.catalog) + (self.measured.operators if self.measured else 0)


def dense(
    matrices: Sequence[Matrix],
    formats: tuple[WeightFormat, WeightFormat],
    names: tuple[str, str],
    profile: Profile | None,
    bandwidth_bytes_per_s: float,
) -> Dense:
    """Products of these matrices.

    formats, names: of what is quantised, and of what is not.
    """
    measured = []
    catalog, derived, uncalibrated = [], [], []
    for m in matrices:
        weights, name = (formats[0], names[0]) if m.quantised else (formats[1], names[1])
        table = linear_table(profile, name)
        if table is None:
            catalog.append((m.layers, m.weights, weights))
            uncalibrated.append(f"{name} linear layers")
            continue
        size = m.weights * weights.bytes_per_weight
        measured.append((table, Product(m.layers, m.outputs, m.inputs, size)))
        if outside(table, m.outputs, m.inputs):
            derived.append(f"{name} {m.part} of {m.outputs:,.0f} × {m.inputs:,.0f}: beyond the measured sizes")
    return Dense(
        measured=rows_curve(measured, bandwidth_bytes_per_s) if measured else None,
        catalog=tuple(catalog),
        derived=tuple(dict.fromkeys(derived)),
        uncalibrated=tuple(dict.fromkeys(uncalibrated)) if profile is not None else (),
        max_rows=min((table.rows[-1] for table, _ in measured), default=0),
    )
