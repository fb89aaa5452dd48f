"""Every way that the choices of a run can go, with its chance: exact laws without a copy of the code that makes them."""

from collections.abc import Callable, Iterator

import torch


def explored(run: Callable) -> Iterator[tuple[float, object]]:
    """(chance, result) of each way; run(choose) calls choose(weights) -> index for each of its choices."""
    scripts = [[]]
    while scripts:
        yield _one_way(run, scripts.pop(), scripts)


def _one_way(run, script, scripts):
    made, chances = [], []

    def choose(weights):
        if len(made) < len(script):
            taken = script[len(made)]
        else:
            taken, *others = [index for index, weight in enumerate(weights) if weight > 0]
            scripts.extend([*made, other] for other in others)
        made.append(taken)
        chances.append(weights[taken])
        return taken

    result = run(choose)
    return float(torch.tensor(chances, dtype=torch.float64).prod()), result


class Uniforms:
    """Random numbers whose comparisons are choices."""

    def __init__(self, choose):
        self.choose = choose

    def __getitem__(self, place):
        return self

    def __lt__(self, chance):
        kept = float(chance)
        return self.choose([kept, 1.0 - kept]) == 0


def picking(choose):
    """In place of engine.sampling.pick: the token is a choice."""

    def pick(probs, uniforms):
        return torch.tensor([choose((probs[0] / probs[0].sum()).tolist())])

    return pick
