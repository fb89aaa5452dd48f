"""Drafts that are made ahead, in the steady state: rounds in which a sequence has none, as longer other rounds."""

from simulator.cluster.limits import StepTimes
from simulator.physics.drafted import DeploymentSteps
from simulator.physics.placement import drafted_share
from simulator.physics.step import StepShape


def share_with_drafts(model: DeploymentSteps, sequences: int) -> float:
    """Share of verifications that have draft tokens, at so many sequences; 1 where drafts and target take turns."""
    ahead = model.draft.pool.ahead if model.draft.pool is not None else None
    return 1.0 if ahead is None else drafted_share(ahead.hit, sequences)


class MissedRounds:
    """Step times by which a request stays as long as with the rounds that it misses, though none of them is counted.

    A sequence that commits 1 + A tokens in a round with drafts commits 1 + f·A in the mean, so as many tokens take
    (1 + A) / (1 + f·A) times the rounds.
    """

    def __init__(self, model: DeploymentSteps, accepted_tokens: float) -> None:
        """accepted_tokens: A, draft tokens accepted in a round that has any, mean. [tokens]."""
        self._model, self._accepted = model, accepted_tokens

    def decode_affine(self, sequences: int) -> tuple[float, float]:
        """See StepTimes."""
        constant, slope = self._model.decode_affine(sequences)
        rounds = self._rounds(sequences)
        return rounds * constant, rounds * slope

    def seconds(self, shape: StepShape) -> float:
        """See StepTimes: rounds are missed by the decoding sequences, not by prompts."""
        seconds = self._model.seconds(shape)
        if not shape.sequences:
            return seconds
        constant, slope = self._model.decode_affine(shape.sequences)
        return seconds + (self._rounds(shape.sequences) - 1.0) * (constant + slope * shape.context_tokens)

    def _rounds(self, sequences: int) -> float:
        share = share_with_drafts(self._model, sequences)
        return (1.0 + self._accepted) / (1.0 + share * self._accepted)


def with_missed_rounds(model: DeploymentSteps, tokens_per_step: float) -> StepTimes:
    """Step times with the rounds that sequences miss; any other model is returned as it is."""
    ahead = model.draft.pool is not None and model.draft.pool.ahead is not None
    return MissedRounds(model, tokens_per_step - 1.0) if ahead else model
