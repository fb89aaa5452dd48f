"""What a GPU costs by the hour, and where that was read."""

from datetime import date
from typing import Annotated, Literal

from pydantic import Field

from simulator.spec.base import Name, Positive, Spec, Text

PriceBasis = Literal["on_demand", "spot", "reserved", "owned", "assumption"]


class Price(Spec):
    """A GPU's price with where and when it was read."""

    usd_per_gpu_hour: Positive
    basis: PriceBasis = "on_demand"
    source: Text
    """Where the price was read."""
    as_of: Annotated[date, Field(strict=False)]
    """Day on which the price held."""


class CatalogPrice(Spec):
    """A price list of the catalog, looked up by the GPU."""

    catalog: Name
    """Name of a price list, such as nebius-on-demand."""


AnyPrice = Positive | Price | CatalogPrice
"""USD per GPU-hour as a plain value, with its source, or from a price list of the catalog."""
