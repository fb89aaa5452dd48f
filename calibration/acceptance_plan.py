"""What an acceptance run is asked to measure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from calibration.drafts import Drafts
from engine.commands.drafting import UNION
from engine.errors import EngineError
from engine.texts import DOMAINS
from simulator.errors import ScenarioError

LOOKUP = Drafts()


@dataclass(frozen=True, slots=True)
class AcceptancePlan:
    """What is run."""

    model: str = "smollm2"
    drafts: Drafts = LOOKUP
    draft_tokens: int = 5
    """K of each draft; a tree says itself what it proposes."""
    domains: tuple[str, ...] = tuple(DOMAINS)
    text: str | None = None
    """A file or folder of the user's own, instead of the domains."""
    requests: int = 16
    """By domain."""
    tokens: int = 64
    """Output tokens a request, at most."""
    prompt_tokens: int = 96
    """Of prompts that are texts to be continued."""
    sequences: int = 8
    """Requests at once: without effect on what is accepted."""
    seed: int = 0
    threads: int | None = None

    @property
    def name(self) -> str:
        """Name of the folder and of what is written."""
        model = Path(self.model).name.replace(":", "-")
        return f"{model}-{self.drafts.label}-k{self.nodes}"

    @property
    def nodes(self) -> int:
        """Draft tokens of a sequence that a step verifies."""
        return self.drafts.all_nodes(self.draft_tokens)

    @property
    def depth(self) -> int:
        """Most of them that it accepts."""
        return self.drafts.depth(self.draft_tokens)

    @property
    def parts(self) -> dict[str, "AcceptancePlan"]:
        """By name: the same with each draft of several alone; none where there is but one."""
        drafts = self.drafts.parts if self.drafts.several else {}
        return {name: replace(self, drafts=alone) for name, alone in drafts.items()}


def plans_of(
    drafts: Drafts, counts: Sequence[int] | None, usual: Sequence[int], domains: tuple[str, ...], **asked: Any
) -> list[AcceptancePlan]:
    """A plan for each K, by default the usual ones; one for a tree, which says itself what it proposes.

    domains: none: all.
    asked: other fields of the plans.

    Raises ScenarioError where a union is of nothing, or the tree is none or comes with a K.
    """
    if drafts.draft == UNION and not drafts.of:
        raise ScenarioError("--draft union: name its drafts, like --of lookup --of ngram --ngram code")
    try:
        tree = drafts.shape() is not None
    except EngineError as error:
        raise ScenarioError(str(error)) from None
    if tree and counts:
        raise ScenarioError(f"--draft-tokens {counts[0]}: a tree says itself how many nodes it has; leave it out")
    wanted = [drafts.all_nodes(0)] if tree else list(dict.fromkeys(counts or usual))
    taken = domains or tuple(DOMAINS)
    return [AcceptancePlan(drafts=drafts, draft_tokens=k, domains=taken, **asked) for k in wanted]
