"""The base of all specifications and the number types that they are made of."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StrictBool

Count = Annotated[int, Field(strict=True, ge=1, le=10**9)]
"""A whole number from 1 to a billion."""

CountOrZero = Annotated[int, Field(strict=True, ge=0, le=10**9)]
"""A whole number from 0 to a billion."""

Positive = Annotated[float, Field(strict=True, gt=0, le=1e15, allow_inf_nan=False)]
"""A finite number above 0."""

NotNegative = Annotated[float, Field(strict=True, ge=0, le=1e15, allow_inf_nan=False)]
"""A finite number, 0 included."""

Fraction = Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)]
"""A finite number from 0 to 1."""

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$")]
"""A short name: letters, digits, dot, dash, underscore."""

ModelName = Annotated[str, Field(max_length=4096, pattern=r"^([A-Za-z0-9][A-Za-z0-9._-]{0,79}|.+[.]json)$")]
"""A model of the catalog, or the path of a Hugging Face config.json."""

Text = Annotated[str, Field(max_length=2000)]
"""Free text of at most 2,000 characters."""

Flag = StrictBool
"""True or false, nothing else."""


class Spec(BaseModel):
    """A frozen specification in which an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)
