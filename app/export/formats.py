"""Number formats as engines name them, and which of them a checkpoint must come in."""

from app.export.served import Served, published_id

QUANTISED_ON_LOADING: dict[str, dict[str, str]] = {"vllm": {"fp8": "fp8"}, "sglang": {"fp8": "fp8"}, "trtllm": {}}
"""Engine → weight format → value of its flag that quantises a bf16 checkpoint while it is loaded."""
AS_RELEASED = ("fp8_block", "mxfp4")
"""Formats in which models are released: their checkpoints say so themselves."""
KV = {"vllm": {"fp8": "fp8"}, "sglang": {"fp8": "fp8_e4m3"}, "trtllm": {"fp8": "fp8"}}
"""Engine → KV format → its name there; what is not in it is the model's own dtype, `auto`."""


def kv_name(engine: str, kv: str) -> str:
    """A KV format as an engine names it.

    >>> kv_name("sglang", "fp8"), kv_name("vllm", "bf16")
    ('fp8_e4m3', 'auto')
    """
    return KV[engine].get(kv, "auto")


def quantised_on_loading(engine: str, weights: str) -> str | None:
    """Value of the flag that quantises weights while they are loaded; None: a checkpoint brings its format."""
    return QUANTISED_ON_LOADING[engine].get(weights)


def target_checkpoint(served: Served) -> str | None:
    """The target's name on Hugging Face, where that is the checkpoint to load; None: the user has to name one."""
    target = served.spec.target
    usual = target.weights in ("bf16", *AS_RELEASED) or quantised_on_loading(served.engine, target.weights) is not None
    return published_id(target.model) if usual and not target.unquantised else None


def target_wanted(served: Served) -> str:
    """What checkpoint the target needs, in words."""
    target = served.spec.target
    kept = f", {' and '.join(target.unquantised)} in bf16" if target.unquantised else ""
    return f"a checkpoint of {published_id(target.model) or target.model} in {target.weights}{kept}"


def draft_checkpoint(served: Served) -> str | None:
    """The same of the draft."""
    draft = served.draft
    if draft is None or draft.model is None:
        return None
    usual = draft.weights in ("bf16", *AS_RELEASED) or quantised_on_loading(served.engine, draft.weights) is not None
    return published_id(draft.model) if usual else None


def draft_wanted(served: Served) -> str:
    """What checkpoint the draft needs, in words."""
    draft = served.draft
    assert draft is not None
    of = f"the {draft.head.method} head of {served.spec.target.model}" if draft.head is not None else str(draft.model)
    return f"a checkpoint of {of} in {draft.weights}"
