"""Drafts to try on a deployment, each with an acceptance that somebody measured on a pair of models named here."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from simulator.planning.draft_words import speculation_words
from simulator.spec.speculation import Speculation

NO_DRAFT = "no draft"


class DraftPreset(NamedTuple):
    """A way to draft, as a scenario says it."""

    kind: str
    way: Mapping[str, Any]
    draft_tokens: int
    acceptance: str
    """Preset of the catalog."""

    def mapping(self) -> dict[str, Any]:
        """The speculation of a deployment that drafts so."""
        return {
            "kind": self.kind,
            "drafts": {"draft": {**self.way, "acceptance": {"all": {"preset": self.acceptance}}}},
            "propose": {"shape": "chain", "draft_tokens": self.draft_tokens},
        }


PRESETS: dict[str, DraftPreset] = {
    "EAGLE-3 head": DraftPreset(
        "heads", {"head": {"method": "eagle3", "vocab_size": 32000}}, 3, "llama-3.1-8b-eagle3-mt-bench"
    ),
    "MTP module": DraftPreset("heads", {"head": {"method": "mtp"}}, 2, "deepseek-v4-pro-mtp-thinking-on"),
    "parallel head": DraftPreset(
        "heads", {"head": {"method": "parallel"}}, 5, "deepseek-v4-pro-0813-dspark-thinking-on"
    ),
    "copied text (n-gram)": DraftPreset("ngram", {"ngram": {}}, 3, "llama-3.1-8b-ngram-sharegpt"),
}
"""Name on the screen → what it sets."""


def chosen_draft(speculation: Speculation) -> str:
    """How a control calls what a deployment does: a preset that it is, or its own words."""
    stated = speculation.model_dump(mode="json", exclude_unset=True)
    own = speculation_words(speculation) or NO_DRAFT
    return next((name for name, preset in PRESETS.items() if _same(stated, preset.mapping())), own)


def _same(stated: Mapping[str, Any], preset: Mapping[str, Any]) -> bool:
    """Whether a speculation says no more and no less than a preset."""
    return {key: stated.get(key) for key in preset} == preset and set(stated) <= {*preset, "combine", "streams"}


def draft_changes(deployment: str, name: str) -> dict[str, Any]:
    """What choosing a draft changes in the scenario; nothing where the deployment's own stands."""
    if name == NO_DRAFT:
        return {f"deployments.{deployment}.speculation": {"kind": "none"}}
    return {f"deployments.{deployment}.speculation": PRESETS[name].mapping()} if name in PRESETS else {}
