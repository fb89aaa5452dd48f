"""From flags to a loaded model and engines around it."""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter, process_time

import numpy as np
import torch

from engine.commands.cores import take_threads
from engine.commands.draft_models import add_computing_flags, with_computing_flags
from engine.commands.drafting import UNION, add_several_flags, drafting
from engine.drafters import DRAFTERS, Drafter, DraftSetup
from engine.errors import DraftError, ModelFileError
from engine.linear import LINEARS
from engine.loading import Loaded, load
from engine.loading.hf_folder import DTYPES
from engine.loading.tokenizer import TextCodec
from engine.loop import Engine, EngineOptions
from engine.model import Model
from engine.policies import Fixed, Policy
from engine.sampling import Sampling
from engine.scheduler import Limits
from engine.synthetic import Forced, forced_by_length, forced_by_survival
from engine.waiting import SCHEDULERS

CLOCKS: dict[str, Callable[[], float]] = {"wall": perf_counter, "cpu": process_time}
"""What steps can be timed with. The CPU's seconds add up over threads: they compare runs of one thread."""


LOSSY = "LOSSY: typical acceptance; the output is not distributed as the target's"
"""What every report of such a run says."""


def add_model_flags(command: argparse.ArgumentParser) -> None:
    """Which model, where and how."""
    command.add_argument(
        "--model",
        default="smollm2",
        help="smollm2, a Hugging Face folder, a .gguf file, or random:NAME (default smollm2)",
    )
    command.add_argument("--device", default="cpu", help="cpu, cuda, cuda:1, … (default cpu)")
    command.add_argument("--dtype", default="float32", choices=sorted(DTYPES), help="element type (default float32)")
    command.add_argument("--backend", choices=sorted(LINEARS), help="matrix products (default: the fastest that works)")
    command.add_argument("--threads", type=int, help="CPU threads (default: torch's own choice)")
    command.add_argument("--seed", type=int, default=0, help="of everything that is drawn (default 0)")
    command.add_argument(
        "--clock",
        choices=sorted(CLOCKS),
        default="wall",
        help="what steps are timed with; cpu: seconds of the CPU,\nfor one thread on a busy machine",
    )
    command.add_argument("--json", action="store_true", help="one JSON object on stdout, and nothing else there")


def add_draft_flags(command: argparse.ArgumentParser, default: str = "none") -> None:
    """Where draft tokens come from, and how many."""
    command.add_argument(
        "--draft", default=default, choices=["none", *sorted(DRAFTERS), UNION], help=f"(default {default})"
    )
    command.add_argument("--draft-model", help="model whose tokens are verified, for --draft model")
    command.add_argument("--draft-tokens", type=int, default=5, help="draft tokens K per step (default 5)")
    command.add_argument("--epsilon", type=float, default=0.1, help="noise of --draft noisy_target (default 0.1)")
    command.add_argument("--longest-ngram", type=int, default=3, help="suffix that --draft lookup seeks (default 3)")
    add_several_flags(command)
    add_computing_flags(command)
    command.add_argument(
        "--synthetic", help="force acceptance: a survival vector like 0.8,0.6,0.4, or tokens per step like 2.5"
    )


def add_batch_flags(command: argparse.ArgumentParser) -> None:
    """Size of the cache, and what bounds a batch."""
    command.add_argument("--max-model-len", type=int, default=2048, help="longest sequence (default 2048)")
    command.add_argument("--max-num-seqs", type=int, default=16, help="sequences at once (default 16)")
    command.add_argument("--max-num-batched-tokens", type=int, default=512, help="tokens of a step (default 512)")
    command.add_argument("--kv-blocks", type=int, help="blocks of the cache (default: four longest sequences)")
    command.add_argument("--block-tokens", type=int, default=16, help="positions of a block (default 16)")
    command.add_argument("--scheduler", default="fcfs", choices=sorted(SCHEDULERS), help="(default fcfs)")


def add_sampling_flags(command: argparse.ArgumentParser) -> None:
    """How tokens are drawn."""
    command.add_argument("--temperature", type=float, default=0.0, help="0: greedy (default)")
    command.add_argument("--top-k", type=int, default=0, help="0: all (default)")
    command.add_argument("--top-p", type=float, default=1.0, help="1: all (default)")


def sampling(flags: argparse.Namespace) -> Sampling:
    """The sampling that the flags ask for."""
    return Sampling(flags.temperature, flags.top_k, flags.top_p)


def forced(flags: argparse.Namespace) -> Forced | None:
    """The acceptance that the flags force; None: none."""
    if flags.synthetic is None:
        return None
    try:
        numbers = [float(part) for part in flags.synthetic.split(",")]
    except ValueError:
        raise DraftError(f"--synthetic {flags.synthetic}: numbers are needed, like 0.8,0.6,0.4 or 2.5") from None
    if len(numbers) == 1 and numbers[0] > 1.0:
        return forced_by_length(numbers[0], flags.draft_tokens)
    if len(numbers) != flags.draft_tokens:
        raise DraftError(
            f"--synthetic: {len(numbers)} positions, but --draft-tokens {flags.draft_tokens}; make them equal"
        )
    return forced_by_survival(numbers)


@dataclass(frozen=True, slots=True)
class Workbench:
    """A loaded target, and what engines around it are made of."""

    name: str
    target: Model
    codec: TextCodec | None
    options: EngineOptions
    new_drafter: Callable[[], Drafter]
    seed: int
    clock: Callable[[], float]
    load_s: float
    new_policy: Callable[[], Policy] = Fixed

    def engine(self, *, speculative: bool, forced: Forced | None = None) -> Engine:
        """A new engine around the target."""
        return Engine(
            self.target,
            self.options,
            drafter=self.new_drafter() if speculative else None,
            rng=np.random.default_rng(self.seed),
            forced=forced if speculative else None,
            policy=self.new_policy() if speculative else None,
            clock=self.clock,
        )

    def text(self) -> TextCodec:
        """The tokenizer, or an error where the model has none."""
        if self.codec is None:
            raise ModelFileError(f"{self.name}: random weights have no tokenizer; text needs a model with one")
        return self.codec


def workbench(flags: argparse.Namespace) -> Workbench:
    """Load what the flags name."""
    take_threads(flags.threads, flags.draft_core if flags.draft_process else None)
    if flags.device.startswith("cuda") and not torch.cuda.is_available():
        raise ModelFileError(f"--device {flags.device}: torch {torch.__version__} sees no CUDA device here")
    start = perf_counter()
    generator = torch.Generator().manual_seed(flags.seed)
    loaded = load(flags.model, dtype=DTYPES[flags.dtype], device=flags.device, generator=generator)
    longest = min(flags.max_model_len, loaded.weights.architecture.max_position)
    blocks = flags.kv_blocks or 4 * -(-longest // flags.block_tokens)
    limits = Limits(longest, flags.max_num_seqs, flags.max_num_batched_tokens, scheduler=flags.scheduler)
    codec = loaded.codec() if loaded.codec else None
    vocab_size = loaded.weights.architecture.vocab_size
    setup = with_computing_flags(flags, _draft_setup(flags, loaded, generator, blocks, longest), loaded.weights, codec)
    drafts = drafting(flags, setup, codec, vocab_size)
    return Workbench(
        name=flags.model,
        target=Model(loaded.weights, backend=flags.backend, max_position=longest),
        codec=codec,
        options=EngineOptions(blocks, limits, flags.block_tokens, drafts.draft_tokens, drafts.typical),
        new_drafter=drafts.new_drafter,
        seed=flags.seed,
        clock=CLOCKS[flags.clock],
        load_s=perf_counter() - start,
        new_policy=drafts.new_policy,
    )


def _draft_setup(
    flags: argparse.Namespace, loaded: Loaded, generator: torch.Generator, blocks: int, longest: int
) -> DraftSetup:
    """What the drafter is built from; the target's weights are kept only where it needs them."""
    draft = None
    if flags.draft_model:
        draft = load(flags.draft_model, dtype=DTYPES[flags.dtype], device=flags.device, generator=generator).weights
        sizes = draft.architecture.vocab_size, loaded.weights.architecture.vocab_size
        if sizes[0] != sizes[1]:
            raise DraftError(
                f"--draft-model {flags.draft_model}: its vocabulary has {sizes[0]} tokens, that of {flags.model}"
                f" {sizes[1]}; both must be the same"
            )
    return DraftSetup(
        target=loaded.weights if "noisy_target" in (flags.draft, *flags.of) else None,
        draft=draft,
        num_blocks=blocks,
        block_tokens=flags.block_tokens,
        max_model_len=longest,
        backend=flags.backend,
        epsilon=flags.epsilon,
        longest_ngram=flags.longest_ngram,
        generator=generator,
    )
