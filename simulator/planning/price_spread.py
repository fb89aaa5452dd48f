"""By how much prices differ between providers: the lists of the catalog that price the same GPUs on the same basis."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from simulator.catalog.load import load_price_list, names
from simulator.planning.inputs import Input, assumed
from simulator.spec.deployment import Deployment
from simulator.spec.price import AnyPrice, CatalogPrice

FEWEST_LISTS = 3
"""Price lists from which their spread stands for that of prices."""


class Spread(NamedTuple):
    """Lists like those in use."""

    basis: str
    lists: tuple[tuple[str, Mapping[str, float]], ...]
    """Name, and GPU → its price ÷ the one in use; in the order of the first GPU's price ÷ the second's."""


def price_inputs(specs: Mapping[str, Deployment]) -> Iterator[Input]:
    """The prices of these deployments' GPUs: a provider's come together; without enough lists each on its own."""
    prices = _prices_by_gpu(specs)
    spread = _spread(prices)
    if spread is None or len(spread.lists) < FEWEST_LISTS:
        for gpu in prices:
            yield assumed(f"price.{gpu}", f"price of {gpu}", "price", "price", (gpu,))
        return
    gpus = tuple(prices)
    factors = [1.0, *(factor for _, of in spread.lists for factor in of.values())]
    order = f", by the price of {gpus[0]} ÷ {gpus[1]}" if len(gpus) > 1 else ""
    source = f"the {len(spread.lists)} {spread.basis} lists of the catalog that have {', '.join(gpus)}{order}"
    says = f"prices of {', '.join(gpus)}"
    yield Input("price", says, min(factors), max(factors), "price lists", source, "price", gpus, spread.lists)


def _prices_by_gpu(specs: Mapping[str, Deployment]) -> dict[str, list[AnyPrice]]:
    """GPU → the different prices that deployments state for it, draft GPUs included."""
    found: dict[str, list[AnyPrice]] = {}
    for spec in specs.values():
        pairs = [(spec.gpu, spec.price)]
        if spec.draft_pool is not None:
            pairs.append((spec.draft_gpu, spec.draft_price))
        for gpu, price in pairs:
            if price not in found.setdefault(gpu, []):
                found[gpu].append(price)
    return found


def _spread(prices: Mapping[str, Sequence[AnyPrice]]) -> Spread | None:
    """None where a price is no list's, a GPU has several, or they are on several bases."""
    used: dict[str, str] = {}
    for gpu, of in prices.items():
        if len(of) > 1 or not isinstance(of[0], CatalogPrice):
            return None
        used[gpu] = of[0].catalog
    bases = {load_price_list(name).basis for name in used.values()}
    if len(bases) > 1:
        return None
    [basis] = bases
    now = {gpu: listed(name)[gpu] for gpu, name in used.items()}
    known = [(name, listed(name)) for name in names("prices") if load_price_list(name).basis == basis]
    whole = [(name, of) for name, of in known if now.keys() <= of.keys()]
    whole.sort(key=lambda one: (*_order(one[1], list(now)), one[0]))
    return Spread(
        basis.replace("_", " "), tuple((name, {gpu: of[gpu] / now[gpu] for gpu in now}) for name, of in whole)
    )


def listed(price_list: str) -> dict[str, float]:
    """GPU → USD per hour; of several entries the first, as a scenario takes it."""
    return {entry.gpu: entry.usd_per_gpu_hour for entry in reversed(load_price_list(price_list).prices)}


def _order(of: Mapping[str, float], gpus: Sequence[str]) -> tuple[float, float]:
    return of[gpus[0]] / of[gpus[1]] if len(gpus) > 1 else 1.0, of[gpus[0]]
