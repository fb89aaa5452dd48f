"""Dollars: what a deployment costs per hour and per million tokens, and where its price comes from."""

from dataclasses import dataclass

from simulator.catalog.load import load_price_list
from simulator.errors import CatalogError
from simulator.spec.deployment import Deployment, Price

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


def resolve_price(deployment: Deployment) -> ResolvedPrice:
    """The deployment's price, looked up in the catalog where it names a price list.

    Raises CatalogError when the list does not hold the deployment's GPU.
    """
    price = deployment.price
    if isinstance(price, Price):
        return ResolvedPrice(price.usd_per_gpu_hour, price.basis, price.source, price.as_of.isoformat())
    if isinstance(price, int | float):
        return ResolvedPrice(float(price), "assumption", "plain number in the scenario", "no date given")
    return _listed(price.catalog, deployment.gpu)


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
