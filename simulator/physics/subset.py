"""A target with few of its experts, as a model of its own: the draft of a mixture of experts."""

from simulator.errors import ScenarioError
from simulator.spec.draft import MoeSubset
from simulator.spec.model import Model


def subset_model(target: Model, subset: MoeSubset) -> Model:
    """The target with `resident_experts` in every layer that has experts, of which a token uses `active_experts`.

    Its router chooses among the resident ones only; everything else is the target's.
    """
    moe = target.moe
    if moe is None or subset.resident_experts > moe.num_experts:
        has = "no experts" if moe is None else f"{moe.num_experts} experts a layer"
        raise ScenarioError(
            f"moe_subset: {subset.resident_experts} resident experts, but {target.name} has {has}: take at most those, "
            "or another way to draft"
        )
    fewer = moe.model_copy(update={"num_experts": subset.resident_experts, "top_k": subset.active_experts})
    return target.model_copy(update={"name": f"{target.name}-subset", "moe": fewer, "published": None})
