"""Constants of the engines, as fitted by calibration.fit_constants, and what rows they were not fitted on say."""

from simulator.spec.profile import EngineConstants, HeldOut

ENGINE_CONSTANTS: dict[str, EngineConstants] = {
    "trtllm": EngineConstants(),
    "vllm": EngineConstants(step_ms=1.5),
    "sglang": EngineConstants(step_ms=1.5),
}


def held_out(gpu: str, engine: str) -> tuple[HeldOut, ...]:
    """Errors on left-out groups of this GPU and engine."""
    return ()
