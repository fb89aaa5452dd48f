"""Where a number comes from."""

from datetime import date
from typing import Annotated, Literal

from pydantic import Field

from simulator.spec.base import Spec, Text

SourceKind = Literal["datasheet", "measured", "price_list", "paper", "config", "derived", "assumption"]
Day = Annotated[date, Field(strict=False)]


class Source(Spec):
    """The origin of the numbers that name it."""

    kind: SourceKind
    ref: Text
    """Document, repository and commit, or page; for an assumption, why it is plausible."""
    date: Day | None = None
    """Day of the document, or on which it was read; None where the reference says the content itself (a digest)."""


Sources = dict[str, Source]
"""Key → source; every section of a catalog file names the key that its numbers come from."""
