"""Acceptance measured by running the engine on real text: rounds of every request, by domain; never random tokens.

A domain that is finished is found again and not run a second time. Prompts of even number are for a fit, those of odd
number are held out: what the first say of the others is the error to expect on other texts of the domain.
"""

import argparse
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from calibration.importers.finding import FIT, HELD_OUT, AcceptanceFinding
from calibration.importers.options import ReadOptions
from calibration.importers.read import read_document
from calibration.importers.records import read_records
from calibration.whole_file import write_whole
from engine.commands.setup import Workbench, add_batch_flags, add_draft_flags, add_model_flags, workbench
from engine.drafters import DRAFTERS
from engine.errors import EngineError
from engine.sequence import Request, SequenceState
from engine.texts import DOMAINS, prompts
from simulator.errors import ScenarioError

Progress = Callable[[str, int, int], None]
"""Domain, output tokens done, output tokens in all."""
FORMAT = "specfleet-acceptance-1"


@dataclass(frozen=True, slots=True)
class AcceptancePlan:
    """What is run."""

    model: str = "smollm2"
    draft: str = "lookup"
    draft_model: str | None = None
    draft_tokens: int = 5
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
        return f"{model}-{self.draft.replace('_', '-')}-k{self.draft_tokens}"


def measure(
    plan: AcceptancePlan, folder: Path, progress: Progress | None = None, *, force: bool = False
) -> dict[str, list[dict[str, Any]]]:
    """Records of requests by domain, each domain written as it is finished.

    force: measure anew what is there.

    Raises ScenarioError where the model, the draft or the texts cannot be used.
    """
    if plan.draft not in DRAFTERS:
        raise ScenarioError(f"--draft {plan.draft}: known: {', '.join(DRAFTERS)}")
    names = _texts(plan)
    there = {} if force else {name: _finished(plan, folder, name) for name in names}
    done = {name: records for name, records in there.items() if records is not None}
    left = [name for name in names if name not in done]
    if left:
        try:
            bench = _bench(plan)
            for position, name in enumerate(left):
                done[name] = _domain(bench, plan, name, names[name], _share(progress, name, position, len(left)))
                _write(plan, folder, name, done[name])
        except EngineError as error:
            raise ScenarioError(str(error)) from None
    return {name: done[name] for name in names}


def findings(records: dict[str, list[dict[str, Any]]], k: int) -> dict[str, dict[str, AcceptanceFinding]]:
    """By domain: acceptance of all requests, of the half to be fitted to, and of the half held out."""
    found = {}
    for name, listed in records.items():
        halves = {half: [r for r in listed if r["half"] == half] for half in (FIT, HELD_OUT)}
        of = {"all": listed, **halves}
        found[name] = {part: read_records(some, name, ReadOptions(k)) for part, some in of.items() if _speculated(some)}
        if "all" not in found[name]:
            raise ScenarioError(f"{name}: no request took a verify step: more --tokens are needed")
    return found


def _speculated(records: Sequence[dict[str, Any]]) -> bool:
    return any(record["spec_decode_acceptance"]["num_spec_steps"] for record in records)


# Texts.


def _texts(plan: AcceptancePlan) -> dict[str, list[str] | None]:
    """By class: the user's texts, or None for those of a domain."""
    if plan.text is None:
        unknown = [name for name in plan.domains if name not in DOMAINS]
        if unknown:
            raise ScenarioError(f"--domain {unknown[0]}: known: {', '.join(DOMAINS)}; or your own --text FILE")
        return dict.fromkeys(plan.domains)
    path = Path(plan.text)
    files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
    texts = [text for file in files for text in _pieces(file, plan)]
    if not texts:
        raise ScenarioError(f"{path}: no text in it")
    count = min(len(texts), plan.requests)
    return {path.stem or "text": [texts[i * len(texts) // count] for i in range(count)]}


def _pieces(file: Path, plan: AcceptancePlan) -> Iterator[str]:
    """A file in pieces that hold a prompt and the room behind it."""
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return
    except OSError as error:
        raise ScenarioError(f"{file}: {error.strerror or error}") from None
    size = 12 * plan.prompt_tokens
    yield from (piece for start in range(0, len(text), size) if len(piece := text[start : start + size].strip()) > 40)


# Running.


def _bench(plan: AcceptancePlan) -> Workbench:
    parser = argparse.ArgumentParser()
    for add in (add_model_flags, add_draft_flags, add_batch_flags):
        add(parser)
    longest = plan.prompt_tokens + 256 + plan.tokens + plan.draft_tokens
    words = [
        *("--model", plan.model, "--draft", plan.draft, "--draft-tokens", str(plan.draft_tokens)),
        *("--max-model-len", str(longest), "--max-num-seqs", str(plan.sequences), "--seed", str(plan.seed)),
        *("--kv-blocks", str(plan.sequences * -(-longest // 16) + 1)),
    ]
    words += ["--threads", str(plan.threads)] if plan.threads else []
    words += ["--draft-model", plan.draft_model] if plan.draft_model else []
    return workbench(parser.parse_args(words))


def _domain(
    bench: Workbench, plan: AcceptancePlan, name: str, texts: list[str] | None, progress: Callable[[int, int], None]
) -> list[dict[str, Any]]:
    codec = bench.text()
    if texts is None:
        taken = prompts(name, plan.requests, codec.encode, codec.chat, plan.prompt_tokens)
    else:
        taken = [tuple(codec.encode(text)[: plan.prompt_tokens]) for text in texts]
    engine = bench.engine(speculative=True)
    sequences = [
        engine.submit(Request(prompt, plan.tokens, stop_tokens=codec.stop_tokens, label=name)) for prompt in taken
    ]
    total, put_out = plan.tokens * len(sequences), 0
    for emission in engine.run():
        put_out += len(emission.tokens)
        if emission.sequence.finished:
            total -= emission.sequence.max_tokens - emission.sequence.num_output
        progress(put_out, total)
    return [_record(plan, index, sequence) for index, sequence in enumerate(sequences)]


def _share(progress: Progress | None, name: str, position: int, domains: int) -> Callable[[int, int], None]:
    """Progress of one domain as part of all; domains are taken to be equally long."""

    def tell(done: int, total: int) -> None:
        if progress is not None:
            progress(name, position * total + done, domains * total)

    return tell


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
            "acceptance_histogram": {str(j): counts[j] for j in range(plan.draft_tokens + 1)},
            "num_accepted_draft_tokens": sum(accepted),
            "num_draft_tokens": sum(drafted),
            "num_spec_steps": steps,
            "num_spec_tokens": plan.draft_tokens,
            "completion_tokens": sequence.num_output,
            "per_step_accepted": accepted,
            "per_step_drafted": drafted,
        },
    }


# Files.


def _settings(plan: AcceptancePlan) -> dict[str, Any]:
    """What records depend on; how many requests run at once is not among it."""
    left_out = ("domains", "sequences", "threads")
    return {"format": FORMAT} | {key: value for key, value in asdict(plan).items() if key not in left_out}


def _finished(plan: AcceptancePlan, folder: Path, name: str) -> list[dict[str, Any]] | None:
    about, records = folder / f"{name}.about.json", folder / f"{name}.jsonl"
    if not (about.exists() and records.exists()):
        return None
    if read_document(about) != _settings(plan):
        raise ScenarioError(f"{about}: measured with other settings: choose another folder with --out, or use --force")
    found = read_document(records)
    return found if isinstance(found, list) else [found]


def _write(plan: AcceptancePlan, folder: Path, name: str, records: Sequence[dict[str, Any]]) -> None:
    """Records, then what says that they are all there."""
    write_whole(folder / f"{name}.jsonl", "".join(json.dumps(record) + "\n" for record in records))
    write_whole(folder / f"{name}.about.json", json.dumps(_settings(plan), indent=2) + "\n")
