"""What specfleet refuses by name, because a silent approximation of it would mislead."""

NEVER = "is not modelled"
NOT_YET = "is not modelled yet"

_DISAGGREGATION = f"prefill/decode disaggregation {NEVER}: every replica does both"
_ONE_MODEL = f"a fleet of several models {NEVER}: a deployment serves one target; write one scenario per model"
_MIG = f"MIG {NEVER}: a replica owns whole GPUs"
_LOSSY = f"acceptance that changes the output (Medusa's typical acceptance) {NEVER}: the target verifies losslessly"
_LORA = f"LoRA {NEVER}: give the served model as it is"

KEYS: dict[str, str] = {
    **dict.fromkeys(("disaggregation", "disaggregated", "prefill", "decode", "prefill_replicas"), _DISAGGREGATION),
    **dict.fromkeys(("decode_replicas", "prefill_gpu", "decode_gpu", "kv_transfer"), _DISAGGREGATION),
    **dict.fromkeys(("models", "targets"), _ONE_MODEL),
    **dict.fromkeys(("mig", "mig_profile", "mig_slices"), _MIG),
    **dict.fromkeys(("lora", "loras", "lora_adapters", "enable_lora", "max_loras"), _LORA),
    "pipeline_parallel": f"pipeline parallelism {NOT_YET}: use tensor_parallel",
    "enable_prefix_caching": "vLLM's name of it; here write prefix_cache: true in engine",
    **dict.fromkeys(("typical_acceptance", "posterior_threshold", "posterior_alpha"), _LOSSY),
}
"""Unknown key → what to say instead of only `unknown key`."""
