"""All that is exported of a deployment: the engine's command, what it leaves out, and the advice."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from app.export import sglang, trtllm, vllm
from app.export.command import EngineCommand, filled, read
from app.export.formats import draft_checkpoint, draft_wanted, target_checkpoint, target_wanted
from app.export.left_out import drafts_left_out, settings_left_out
from app.export.served import DRAFT, MODEL, PORT, USUAL_PORT, Served, served, with_engine, with_schedule
from simulator.planning.advice import placement_advice
from simulator.planning.draft_schedule import DraftSchedule, draft_schedule
from simulator.spec.scenario import Scenario

COMMANDS = {"vllm": vllm.command, "sglang": sglang.command, "trtllm": trtllm.command}
"""Engine → its command."""


@dataclass(frozen=True, slots=True)
class Exported:
    """One deployment, exported."""

    served: Served
    command: EngineCommand
    left_out: tuple[str, ...]
    """What the engine cannot be told; with any, the prediction is of another thing than the command."""
    notes: tuple[str, ...]
    schedule: DraftSchedule
    placement: dict[str, Any] | None

    @property
    def names(self) -> dict[str, str | None]:
        """Variables of the command → what is known of them."""
        return {MODEL: target_checkpoint(self.served), DRAFT: draft_checkpoint(self.served), PORT: USUAL_PORT}

    @property
    def configurations(self) -> dict[str, str]:
        """Files that the command names → their text."""
        return {name: filled(text, self.names) for name, text in self.command.files.items()}

    @property
    def text(self) -> str:
        """The command as a person copies it, and the configurations that it names."""
        files = (f"# {name}\n{text.rstrip()}" for name, text in self.configurations.items())
        return "\n\n".join([read(self.command, self.names), *files])

    def as_json(self) -> dict[str, Any]:
        """For scripts and screens."""
        spec = self.served.spec
        return {
            "deployment": self.served.name,
            "engine": self.served.engine,
            "gpu": spec.gpu,
            "gpus": spec.target.num_gpus,
            "replicas": spec.replicas,
            "command": [filled(word, self.names) for word in self.command.words],
            "text": self.text,
            "configurations": self.configurations,
            "left_out": list(self.left_out),
            "notes": list(self.notes),
            "draft_schedule": self.schedule.as_json(),
            "draft_schedule_for_engine": for_engine(self.served, self.schedule),
            "placement": self.placement,
        }


def exported(scenario: Scenario, name: str, engine: str | None = None, *, scheduled: bool = False) -> Exported:
    """Export a deployment.

    engine: for which; by default the deployment's own. scheduled: with the draft tokens by batch that are advised.

    Raises ScenarioError where it does not fit, or no engine serves it.
    """
    scenario = with_engine(scenario, [name], engine)
    schedule = draft_schedule(scenario, name)
    found = served(scenario, name, schedule if scheduled else None)
    command = COMMANDS[found.engine](found)
    return Exported(
        served=found,
        command=command,
        left_out=(*drafts_left_out(found), *settings_left_out(found)),
        notes=tuple(_notes(found, command, schedule, scheduled=scheduled)),
        schedule=schedule,
        placement=placement_advice(scenario, name),
    )


def for_engine(found: Served, schedule: DraftSchedule) -> dict[str, Any] | None:
    """An advised schedule as the engine takes it; None where there is none, or it takes none."""
    if schedule.policy() is None or not schedule.draft_tokens:
        return None
    if list(drafts_left_out(replace(found, spec=with_schedule(found.spec, schedule)))):
        return None
    bands = schedule.here.bands
    if found.engine == "sglang":
        return sglang.by_batch_config(bands)
    if found.engine == "trtllm":
        by_batch = trtllm.by_batch_schedule(bands, found.limits.max_num_seqs)
        return {"max_draft_len": schedule.draft_tokens, "draft_len_schedule": by_batch}
    by_batch_size = [list(band) for band in bands]
    return {
        "num_speculative_tokens": schedule.draft_tokens,
        "num_speculative_tokens_per_batch_size": by_batch_size,
    }


def _notes(found: Served, command: EngineCommand, schedule: DraftSchedule, *, scheduled: bool) -> Iterator[str]:
    """What is to be known of the flags."""
    spec = found.spec
    if target_checkpoint(found) is None:
        yield f"{MODEL}: {target_wanted(found)}"
    if command.names_draft and draft_checkpoint(found) is None:
        yield f"{DRAFT}: {draft_wanted(found)}"
    if spec.replicas > 1:
        yield f"router {spec.router.kind}: the gateway's, before the {spec.replicas} replicas"
    if scheduled and schedule.policy() is None:
        yield f"no schedule: {schedule.why_not or schedule.fixed}"
    if spec.speculation.kind != "none" and spec.speculation.policy.kind == "by_batch" and found.engine == "vllm":
        yield "by_batch: vLLM counts all sequences of a step, those whose prompts it computes too"
