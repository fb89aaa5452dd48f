"""Time of collectives between the GPUs of a replica."""

from collections.abc import Callable
from dataclasses import dataclass

from simulator.errors import CatalogError
from simulator.physics.linear import interpolate, running_max
from simulator.spec.hardware import CollectiveTable, Links, PointToPoint


def transfer_s(message_bytes: float, latency_s: float, bytes_per_s: float) -> float:
    """Seconds of a message over a link: L + m / BW.

    message_bytes: bytes m that one GPU sends. [bytes]
    latency_s: latency L of the link. [s]
    bytes_per_s: bandwidth BW per direction. [bytes/s]

    >>> round(transfer_s(50e6, 5e-6, 50e9) * 1e3, 3)
    1.005

    Hockney, "The communication challenge for MPP", Parallel Computing 20 (1994).
    """
    return latency_s + message_bytes / bytes_per_s


def ring_s(message_bytes: float, members: int, latency_s: float, bytes_per_s: float) -> float:
    r"""Seconds of a ring all-reduce between nodes.

    .. math:: 2 (N - 1) (L + m / (N \cdot BW))

    message_bytes: bytes m that each member contributes. [bytes]
    members: members N of the ring. [nodes]
    latency_s: latency L of a hop. [s]
    bytes_per_s: bandwidth BW per direction. [bytes/s]

    >>> round(ring_s(1e6, 2, 5e-6, 50e9) * 1e6, 1)
    30.0

    Thakur, Rabenseifner, Gropp, IJHPCA 19 (2005), section 4.
    """
    return 2.0 * (members - 1) * transfer_s(message_bytes / members, latency_s, bytes_per_s)


@dataclass(frozen=True, slots=True)
class CollectiveCurve:
    """Latency by message size: linear between measured sizes, the last slope beyond."""

    sizes_bytes: tuple[float, ...]
    seconds: tuple[float, ...]
    """Never falling."""

    def seconds_at(self, message_bytes: float) -> float:
        """Seconds of a message; below the smallest size that size's latency."""
        if message_bytes <= 0.0:
            return 0.0
        if len(self.sizes_bytes) == 1:
            return self.seconds[0]
        return interpolate(max(message_bytes, self.sizes_bytes[0]), self.sizes_bytes, self.seconds)


def collective_curve(table: CollectiveTable) -> CollectiveCurve:
    """The curve of a measured table, its falls removed as noise."""
    return CollectiveCurve(tuple(float(b) for b in table.bytes), running_max([us * 1e-6 for us in table.us]))


def all_reduce_curve(links: Links, kernel: str, num_gpus: int) -> CollectiveCurve:
    """The kernel's table for this many GPUs; without one NCCL's, and last the next larger group that was measured."""
    tables = [links.all_reduce.get(name, {}) for name in (kernel, "nccl")]
    for table in tables:
        if num_gpus in table:
            return collective_curve(table[num_gpus])
    for table in tables:
        larger = [n for n in sorted(table) if n > num_gpus] or sorted(table)[-1:]
        if larger:
            return collective_curve(table[larger[0]])
    raise CatalogError(
        f"links {links.name}: no all-reduce {kernel} or nccl; known: {', '.join(sorted(links.all_reduce)) or 'none'}"
    )


def link(links: Links, num_gpus: int, node_gpus: int) -> PointToPoint:
    """The slowest link within a group of GPUs: NVLink (or PCIe without it) in a node, the inter-node link beyond."""
    wanted = ("nvlink", "pcie") if num_gpus <= node_gpus else ("internode",)
    for name in wanted:
        if name in links.point_to_point:
            return links.point_to_point[name]
    raise CatalogError(
        f"links {links.name}: no {wanted[0]} link for a group of {num_gpus} GPUs; "
        f"known: {', '.join(links.point_to_point)}"
    )


class Group:
    """GPUs that exchange messages; `num_gpus` beyond a node are spread evenly over nodes."""

    def __init__(
        self,
        links: Links,
        num_gpus: int,
        node_gpus: int,
        kernels: tuple[str, str],
        measured: Callable[[int], tuple[CollectiveCurve, CollectiveCurve] | None] = lambda gpus: None,
    ) -> None:
        """Look up the tables that the group needs.

        kernels: names of the all-reduce in graphs and outside. measured: their curves by GPUs of a node, where a
        profile has them.
        """
        self.num_gpus = num_gpus
        self.nodes = -(-num_gpus // node_gpus)
        self._link = link(links, num_gpus, node_gpus) if num_gpus > 1 else None
        local = -(-num_gpus // self.nodes)
        self._local_gpus = local
        found = measured(local)
        self.calibrated = found is not None or local == 1
        """Whether its all-reduce within a node was measured with the engine."""
        self._curves: tuple[CollectiveCurve, ...] = ()
        if local > 1:
            self._curves = found or tuple(all_reduce_curve(links, name, local) for name in kernels)

    def all_reduce_s(self, message_bytes: float, eager: bool) -> float:
        """Seconds of one all-reduce: within the nodes, then a ring between nodes in which every GPU carries its share.

        The eager kernel is never faster than the one in graphs: where the table says so, it is noise.
        """
        if self.num_gpus == 1 or message_bytes <= 0.0:
            return 0.0
        seconds = [curve.seconds_at(message_bytes) for curve in self._curves] or [0.0, 0.0]
        local = max(seconds) if eager else seconds[0]
        if self.nodes == 1 or self._link is None:
            return local
        share = message_bytes / self._local_gpus
        return local + ring_s(share, self.nodes, self._link.latency_us * 1e-6, self._link.gb_per_s * 1e9)

    def exchange_s(self, sent_bytes: float) -> float:
        """Seconds in which every GPU sends so many bytes to the others (all-to-all, gather): latency + bytes ÷ link."""
        if self._link is None or sent_bytes <= 0.0:
            return 0.0
        return transfer_s(sent_bytes, self._link.latency_us * 1e-6, self._link.gb_per_s * 1e9)
