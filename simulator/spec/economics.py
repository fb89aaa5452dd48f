"""What a draft cost to make: paid once, and to be earned back by what it saves."""

from typing import Self

from pydantic import model_validator

from simulator.spec.base import NotNegative, Spec


class Economics(Spec):
    """One-time cost of a deployment's drafts: people's time and GPUs to train and tune them."""

    engineering_weeks: NotNegative = 0.0
    """Work of all people together [weeks]."""
    usd_per_week: NotNegative = 0.0
    """Cost of a week of it [USD]."""
    training_gpu_hours: NotNegative = 0.0
    """GPU hours to train or prune the drafts and to measure their acceptance."""
    usd_per_gpu_hour: NotNegative = 0.0
    """Price of such an hour [USD]."""

    @model_validator(mode="after")
    def _costs_something(self) -> Self:
        for amount, price in (("engineering_weeks", "usd_per_week"), ("training_gpu_hours", "usd_per_gpu_hour")):
            if (getattr(self, amount) > 0) != (getattr(self, price) > 0):
                raise ValueError(f"{amount} and {price} belong together: give both, or neither")
        if self.one_time_usd <= 0:
            raise ValueError("economics holds no cost: give engineering_weeks or training_gpu_hours, with their price")
        return self

    @property
    def one_time_usd(self) -> float:
        """What the drafts cost until they serve [USD]."""
        return self.engineering_weeks * self.usd_per_week + self.training_gpu_hours * self.usd_per_gpu_hour
