"""Where drafts run: between the target's steps on its GPUs, or on GPUs of their own, which replicas may share."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from simulator.spec.base import Count, Fraction, Name, Spec
from simulator.spec.price import AnyPrice


class Colocated(Spec):
    """The drafts run on the target's GPUs, between its steps."""

    kind: Literal["colocated"] = "colocated"


class NoOverlap(Spec):
    """Drafts and target take turns."""

    kind: Literal["none"] = "none"


class DraftAhead(Spec):
    """The drafts go on while the target verifies, from what it will probably commit (PEARL, SSD, SpecActor).

    A sequence whose guess was wrong is verified with its last token only; where that happened to all of a step, the
    target waits for drafts.
    """

    kind: Literal["draft_ahead"]
    hit: Fraction | None = None
    """Chance that a sequence's next drafts are ready and valid when its verification ends, as measured."""
    bonus_guess: Fraction | None = None
    """Or the chance that the token is guessed which the target adds to those that it accepts; `hit` follows from it."""
    outcomes: Annotated[Count, Field(le=64)] = 1
    """Numbers of accepted tokens that are prepared for, each with drafts of its own: 1: all are accepted."""

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.hit is None) == (self.bonus_guess is None):
            raise ValueError(
                "draft_ahead: give the measured hit, or bonus_guess, from which it follows with the acceptance: "
                "exactly one"
            )
        return self


class Dedicated(Spec):
    """The drafts have GPUs of their own: a pool for one replica or several."""

    kind: Literal["dedicated"]
    gpus: Count = 1
    """GPUs of a pool."""
    gpu: Name | None = None
    """GPU type of a pool (default: the deployment's)."""
    price: AnyPrice | None = None
    """Price of these GPUs (default: the deployment's, where they are of its type)."""
    shared_by: Count = 1
    """Replicas that a pool serves."""
    link: Literal["nvlink", "pcie", "internode"]
    """Link between pool and target, in the catalog's figures of both GPU types; internode is RDMA over the network."""
    payload: Literal["token_ids", "probabilities"] = "token_ids"
    """What comes with the draft tokens: nothing, as greedy decoding needs, or their distributions (fp16)."""
    overlap: Annotated[NoOverlap | DraftAhead, Field(discriminator="kind")] = NoOverlap()

    def pools(self, replicas: int) -> int:
        """Pools for so many replicas; the last one may serve fewer."""
        return -(-replicas // self.shared_by)


Placement = Annotated[Colocated | Dedicated, Field(discriminator="kind")]
