"""Requests of one domain through the engine, and a record of each: its rounds, and what its drafts came to."""

import argparse
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, replace
from time import perf_counter
from typing import Any

from calibration.acceptance_plan import AcceptancePlan
from calibration.branching import Watched, branching_of
from calibration.importers.finding import FIT, HELD_OUT
from calibration.unseen import unseen
from engine.commands.setup import Workbench, add_batch_flags, add_draft_flags, add_model_flags, workbench
from engine.drafters import Drafter
from engine.drafters.asynchronous import AsynchronousDraft
from engine.drafters.routed import ROUTERS, Routed
from engine.sequence import Request, SequenceState
from engine.texts import prompts
from simulator.errors import ScenarioError


def bench_of(plan: AcceptancePlan) -> Workbench:
    """Load what a plan names.

    Raises ScenarioError or EngineError where that cannot be.
    """
    parser = argparse.ArgumentParser(exit_on_error=False)
    for add in (add_model_flags, add_draft_flags, add_batch_flags):
        add(parser)
    longest = plan.prompt_tokens + 256 + plan.tokens + plan.nodes
    words = [
        *("--model", plan.model, *plan.drafts.words(), "--draft-tokens", str(plan.draft_tokens)),
        *("--max-model-len", str(longest), "--max-num-seqs", str(plan.sequences), "--seed", str(plan.seed)),
        *("--kv-blocks", str(plan.sequences * -(-longest // 16) + 1)),
        *("--max-num-batched-tokens", str(max(512, 2 * plan.sequences * (plan.nodes + 1)))),
    ]
    words += ["--threads", str(plan.threads)] if plan.threads else []
    try:
        return workbench(parser.parse_args(words))
    except argparse.ArgumentError as error:
        raise ScenarioError(str(error).removeprefix("argument ")) from None


def run_domain(
    bench: Workbench, plan: AcceptancePlan, name: str, texts: list[str] | None, progress: Callable[[int, int], None]
) -> list[dict[str, Any]]:
    """Serve the requests of a domain, or of texts of the user's own; their records."""
    codec = bench.text()
    if texts is None:
        wanted = unseen(plan.drafts.ngram)
        taken = prompts(name, plan.requests, codec.encode, codec.chat, plan.prompt_tokens, wanted)
    else:
        taken = [tuple(codec.encode(text)[: plan.prompt_tokens]) for text in texts]
    watched = replace(bench, new_drafter=lambda: Watched(bench.new_drafter()))
    engine = (bench if plan.drafts.shape() is None else watched).engine(speculative=True)
    sequences = [
        engine.submit(Request(prompt, plan.tokens, stop_tokens=codec.stop_tokens, label=name)) for prompt in taken
    ]
    total, put_out = plan.tokens * len(sequences), 0
    for emission in engine.run():
        put_out += len(emission.tokens)
        if emission.sequence.finished:
            total -= emission.sequence.max_tokens - emission.sequence.num_output
        progress(put_out, total)
    found = [
        _record(plan, index, sequence) | _told(plan, sequence, engine.drafter)
        for index, sequence in enumerate(sequences)
    ]
    if isinstance(engine.drafter, AsynchronousDraft) and found:
        found[0]["ahead"] = engine.drafter.summary()
        engine.drafter.close()
    return found


def _told(plan: AcceptancePlan, sequence: SequenceState, drafter: Drafter | None) -> dict[str, Any]:
    """What else there is to say of a request: which children of a tree were kept, or which draft a router chose.

    A router that goes by what was accepted of late chooses anew in every step: there is no choice to tell.
    """
    if isinstance(drafter, Watched):
        return {"branching": asdict(branching_of(sequence, drafter.proposed.get(sequence.number, [])))}
    if not isinstance(drafter, Routed) or plan.drafts.router is None:
        return {}
    router, start = ROUTERS[plan.drafts.router](drafter.drafters), perf_counter()
    if not router.by_prompt:
        return {}
    name = router.choose(sequence)
    return {"router": {"draft": name.replace(" ", "-"), "seconds": perf_counter() - start}}


def _record(plan: AcceptancePlan, index: int, sequence: SequenceState) -> dict[str, Any]:
    """One request: its rounds, and the counts that other tools write."""
    drafted, accepted = ([pair[i] for pair in sequence.rounds] for i in (0, 1))
    counts, steps = Counter(accepted), len(sequence.rounds)
    return {
        "request": index,
        "half": (FIT, HELD_OUT)[index % 2],
        "prompt_tokens": len(sequence.request.prompt),
        "spec_decode_acceptance": {
            "engine": "specfleet",
            "mean_acceptance_length": 1.0 + sum(accepted) / steps if steps else None,
            "draft_acceptance_rate": sum(accepted) / sum(drafted) if sum(drafted) else None,
            "acceptance_histogram": {str(j): counts[j] for j in range(plan.nodes + 1)},
            "num_accepted_draft_tokens": sum(accepted),
            "num_draft_tokens": sum(drafted),
            "num_spec_steps": steps,
            "num_spec_tokens": plan.nodes,
            "completion_tokens": sequence.num_output,
            "per_step_accepted": accepted,
            "per_step_drafted": drafted,
        },
    }
