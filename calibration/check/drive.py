"""A point run on the engine, and all that is compared later written down."""

from collections.abc import Callable, Sequence
from time import process_time, sleep
from typing import Any

from calibration.check.run import Composition, EngineLimits, Point, RequestRow, Run, StepTaken
from engine.loop import Engine
from engine.scheduler import Plan, Scheduler
from engine.sequence import Request, SequenceState
from engine.serving import clock_from_now, serve, serve_clients, settled_heap
from engine.trace import STEP_COLUMNS, StepCost, StepRow, StepShape, step_values

SHAPE = len(StepShape._fields)
FIRST_COST = 1 + SHAPE
LAST_COST = FIRST_COST + len(StepCost.__dataclass_fields__)


class WatchedScheduler(Scheduler):
    """A scheduler that remembers who takes part in each step."""

    def __init__(self, scheduler: Scheduler) -> None:
        """In place of the engine's own, which has not planned anything yet."""
        super().__init__(scheduler.limits, scheduler.pool)
        self.seen: list[Composition] = []

    def schedule(self) -> Plan:
        """See Scheduler."""
        plan = super().schedule()
        chunks = tuple((c.sequence.number, c.start, c.num_tokens, c.prompt_tokens) for c in plan.chunks)
        self.seen.append(Composition(tuple(s.number for s in plan.decoding), chunks))
        return plan


class CpuTime:
    """The seconds that this process computes, and those that it is said to have waited.

    For one thread on a busy machine: what others compute meanwhile does not count, and nobody waits for real.
    """

    def __init__(self, spent: Callable[[], float] = process_time) -> None:
        """spent: seconds that the process has computed."""
        self._spent, self._start_s, self._waited_s = spent, spent(), 0.0

    def start(self) -> None:
        """Let it be 0 now."""
        self._start_s, self._waited_s = self._spent(), 0.0

    def __call__(self) -> float:
        """Now, from the start on [s]."""
        return self._spent() - self._start_s + self._waited_s

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self._waited_s += seconds


def drive(
    point: Point,
    engine: Engine,
    requests: Sequence[Request],
    about: dict[str, Any],
    time: CpuTime | None = None,
) -> Run:
    """Serve the requests of a point to their end.

    time: what the engine goes by; None: the wall's clock, from now on.
    """
    engine.scheduler = watched = WatchedScheduler(engine.scheduler)
    clients = point.clients
    with settled_heap():
        if time is not None:
            time.start()
        engine.clock, wait = (clock_from_now(), sleep) if time is None else (time, time.wait)
        for _ in serve(engine, requests, wait) if clients is None else serve_clients(engine, requests, clients):
            pass
    return Run(
        point=point,
        limits=limits_of(engine),
        requests=tuple(map(request_row, engine.sequences)),
        steps=tuple(map(step_taken, engine.steps, watched.seen)),
        about=about,
    )


def limits_of(engine: Engine) -> EngineLimits:
    """What bounds the engine's batch."""
    options, limits = engine.options, engine.options.limits
    return EngineLimits(
        options.kv_blocks,
        options.block_tokens,
        limits.max_model_len,
        limits.max_num_seqs,
        limits.max_num_batched_tokens,
    )


def request_row(sequence: SequenceState) -> RequestRow:
    """What became of a request."""
    s = sequence
    return RequestRow(
        label=s.request.label,
        arrival_s=s.request.arrival_s,
        scheduled_s=s.scheduled_s,
        first_token_s=s.first_token_s,
        finish_s=s.finish_s,
        prompt_tokens=len(s.request.prompt),
        output_tokens=s.num_output,
        preemptions=s.preemptions,
        drafted=tuple(drafted for drafted, _ in s.rounds),
        accepted=tuple(accepted for _, accepted in s.rounds),
    )


def step_taken(row: StepRow, composition: Composition) -> StepTaken:
    """What one step computed and took."""
    values = step_values(row)
    named = dict(zip(STEP_COLUMNS, values, strict=True))
    return StepTaken(
        start_s=row.start_s,
        shape=values[1:FIRST_COST],
        cost=values[FIRST_COST:LAST_COST],
        emitted_tokens=named["emitted_tokens"],
        kv_blocks=named["kv_blocks"],
        waiting=named["waiting"],
        blocked_by=named["blocked_by"],
        composition=composition,
    )
