"""What a draft's training costs, and when it has paid back, in sentences."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from app.format import percent, plural, significant, times, usd

Line = tuple[str, str, str]
"""Label, text, style."""


def economics_lines(found: Sequence[Mapping[str, Any]]) -> Iterator[Line]:
    """A line for each deployment of one point that says what its drafts cost to make."""
    for one in found:
        if one["one_time_usd"] is not None:
            yield "Pays back", f"{one['deployment']}: {pay_back(one)}; {adds(one)}", ""


def pay_back(one: Mapping[str, Any]) -> str:
    """When the one-time cost is earned back at the load, and by what."""
    cost = usd(one["one_time_usd"])
    saving = one["saving_usd_per_hour"]
    if saving is None:
        return f"{cost} to make the drafts; no deployment without any holds this load to save against"
    gpus = f"{plural(one['gpus_for_offered'], 'GPU')} in place of {one['gpus_for_offered_without']} ({one['against']})"
    if one["months_to_pay_back"] is None:
        return f"{cost} to make the drafts never pay back at this load: {gpus} save nothing"
    months = significant(one["months_to_pay_back"], 2)
    return f"{cost} to make the drafts are earned back in {months} months: {gpus} save {usd(saving)}/h"


def adds(one: Mapping[str, Any]) -> str:
    """Memory, on the fullest GPU, and compute that the drafts add."""
    weights = f"on the fullest GPU their weights take {percent(one['draft_weights_share_of_hbm'])} of it"
    kv = f"their KV {percent(one['draft_kv_ratio'])} of the target's" if one["draft_kv_ratio"] else "no KV of their own"
    flops = f"; a token takes {times(one['operations_ratio'])} the FLOPs" if one["operations_ratio"] is not None else ""
    return f"{weights}, {kv}{flops}"
