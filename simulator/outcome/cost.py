"""Dollars: what a deployment costs per hour and per million tokens, and where its price comes from."""

from dataclasses import dataclass
from math import ceil

from simulator.catalog.load import load_gpu, load_price_list
from simulator.errors import CatalogError
from simulator.spec.deployment import Deployment
from simulator.spec.price import AnyPrice, Price

SECONDS_PER_HOUR = 3600.0
TOKENS_PER_UNIT = 1e6


@dataclass(frozen=True, slots=True)
class ResolvedPrice:
    """A price with where and when it was read."""

    usd_per_gpu_hour: float
    basis: str
    source: str
    as_of: str
    """Date, or a remark where there is none."""


@dataclass(frozen=True, slots=True)
class Gpus:
    """GPUs of one type."""

    count: int
    usd_per_gpu_hour: float
    board_watts: float


@dataclass(frozen=True, slots=True)
class Bill:
    """What a deployment pays for, whatever its number of replicas: GPUs of each, and of each pool of draft GPUs."""

    replica: Gpus
    pool: Gpus | None = None
    shared_by: int = 1
    """Replicas that a pool serves; the last pool may serve fewer."""

    def gpus(self, replicas: int) -> int:
        """All GPUs of so many replicas."""
        return sum(gpus.count * times for gpus, times in self._parts(replicas))

    def draft_gpus(self, replicas: int) -> int:
        """Draft GPUs among them."""
        return self.gpus(replicas) - self.replica.count * replicas

    def usd_per_hour(self, replicas: int) -> float:
        """What so many replicas cost [USD/h]."""
        return sum(usd_per_hour(gpus.usd_per_gpu_hour, gpus.count * times) for gpus, times in self._parts(replicas))

    def usd_per_gpu_hour(self, replicas: int) -> float:
        """Price of a GPU, mean over all GPUs of so many replicas [USD/h]."""
        return self.replica.usd_per_gpu_hour if self.pool is None else self.usd_per_hour(replicas) / self.gpus(replicas)

    def board_watts(self, replicas: int) -> float:
        """Power limit of a board, mean over all GPUs of so many replicas [W]."""
        watts = sum(gpus.board_watts * gpus.count * times for gpus, times in self._parts(replicas))
        return watts / self.gpus(replicas)

    def usd_per_replica_hour(self) -> float:
        """What a replica costs, with its share of a pool [USD/h]."""
        return self.usd_per_hour(self.shared_by) / self.shared_by

    def _parts(self, replicas: int) -> list[tuple[Gpus, int]]:
        pools = [] if self.pool is None else [(self.pool, ceil(replicas / self.shared_by))]
        return [(self.replica, replicas), *pools]


def bill_of(deployment: Deployment) -> Bill:
    """What a deployment pays for.

    Raises CatalogError when a price list does not hold one of its GPUs.
    """
    pool = deployment.draft_pool
    own = Gpus(deployment.target.num_gpus, resolve_price(deployment).usd_per_gpu_hour, _watts(deployment.gpu))
    if pool is None:
        return Bill(own)
    draft_gpu = deployment.draft_gpu
    price = resolve_draft_price(deployment).usd_per_gpu_hour
    return Bill(own, Gpus(pool.gpus, price, _watts(draft_gpu)), pool.shared_by)


def _watts(gpu: str) -> float:
    return load_gpu(gpu).power.watts


def resolve_price(deployment: Deployment) -> ResolvedPrice:
    """The deployment's price, looked up in the catalog where it names a price list.

    Raises CatalogError when the list does not hold the deployment's GPU.
    """
    return resolved(deployment.price, deployment.gpu)


def resolve_draft_price(deployment: Deployment) -> ResolvedPrice:
    """The price of the draft pool's GPUs: its own, else the deployment's.

    Raises CatalogError when the list does not hold them.
    """
    return resolved(deployment.draft_price, deployment.draft_gpu)


def resolved(price: AnyPrice, gpu: str) -> ResolvedPrice:
    """What a GPU costs by a price as a scenario states it.

    Raises CatalogError when the list that it names does not hold the GPU.
    """
    if isinstance(price, Price):
        return ResolvedPrice(price.usd_per_gpu_hour, price.basis, price.source, price.as_of.isoformat())
    if isinstance(price, int | float):
        return ResolvedPrice(float(price), "assumption", "plain number in the scenario", "no date given")
    return _listed(price.catalog, gpu)


def _listed(name: str, gpu: str) -> ResolvedPrice:
    prices = load_price_list(name)
    for entry in prices.prices:
        if entry.gpu == gpu:
            key = prices.sources.get(entry.source)
            source = f"{prices.provider}, {entry.sku}" + (f": {key.ref}" if key else "")
            return ResolvedPrice(entry.usd_per_gpu_hour, prices.basis, source, entry.as_of)
    known = ", ".join(sorted({entry.gpu for entry in prices.prices}))
    raise CatalogError(f"price list {name!r} has no price for GPU {gpu!r}; it has: {known}")


def usd_per_hour(usd_per_gpu_hour: float, num_gpus: int) -> float:
    """Cost of a cluster per hour, every GPU counted, those of drafts included.

    usd_per_gpu_hour: price. [USD/h]
    num_gpus: GPUs paid for.

    >>> usd_per_hour(3.5, 8)
    28.0
    """
    return usd_per_gpu_hour * num_gpus


def usd_per_million_tokens(cluster_usd_per_hour: float | None, tokens_per_s: float | None) -> float | None:
    r"""Cost of a million tokens, of whichever kind the rate counts; each kind carries the whole cost: never add them.

    .. math:: c = \frac{C}{3600\, X} 10^6

    cluster_usd_per_hour: cost C of the cluster. [USD/h]
    tokens_per_s: throughput X. [tokens/s]

    None where nothing comes out: a million tokens has no finite price then.

    >>> usd_per_million_tokens(36.0, 1000.0)
    10.0
    >>> usd_per_million_tokens(36.0, 0.0) is None
    True
    """
    if cluster_usd_per_hour is None or tokens_per_s is None or tokens_per_s <= 0:
        return None
    return cluster_usd_per_hour / SECONDS_PER_HOUR / tokens_per_s * TOKENS_PER_UNIT


def joules_per_token_bound(board_watts: float, num_gpus: int, output_tokens_per_s: float | None) -> float | None:
    """Upper bound of the energy of an output token: every board at its power limit, all the time.

    board_watts: power limit of a board. [W]
    num_gpus: boards.
    output_tokens_per_s: throughput. [tokens/s]

    >>> joules_per_token_bound(700.0, 2, 1400.0)
    1.0
    """
    if output_tokens_per_s is None or output_tokens_per_s <= 0:
        return None
    return board_watts * num_gpus / output_tokens_per_s
