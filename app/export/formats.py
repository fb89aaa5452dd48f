"""Number formats as engines name them, and which of them a checkpoint must come in."""

from collections.abc import Iterator

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


def format_flags(served: Served) -> Iterator[str]:
    """The flags of the target's formats, which vLLM and SGLang call alike."""
    target = served.spec.target
    if target.weights == "fp32":
        yield from ("--dtype", "float32")
    quantised = quantised_on_loading(served.engine, target.weights)
    if quantised is not None:
        yield from ("--quantization", quantised)
    yield from ("--kv-cache-dtype", kv_name(served.engine, target.kv))


def target_checkpoint(served: Served) -> str | None:
    """The target's name on Hugging Face, where that is the checkpoint to load; None: the user has to name one."""
    target = served.spec.target
    usual = _comes_as_released(served.engine, target.weights) and not target.unquantised
    return published_id(target.model) if usual else None


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
    return published_id(draft.model) if _comes_as_released(served.engine, draft.weights) else None


def draft_wanted(served: Served) -> str:
    """What checkpoint the draft needs, in words."""
    draft = served.draft
    assert draft is not None
    of = f"the {draft.head.method} head of {served.spec.target.model}" if draft.head is not None else str(draft.model)
    return f"a checkpoint of {of} in {draft.weights}"


def _comes_as_released(engine: str, weights: str) -> bool:
    """Whether a checkpoint as its model is released will do for a weight format."""
    return weights in ("bf16", *AS_RELEASED) or quantised_on_loading(engine, weights) is not None
