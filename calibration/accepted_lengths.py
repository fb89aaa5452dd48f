"""Accepted lengths that are published apart from the speed-ups that they belong to (`acceptance_derived.csv`)."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from calibration import csv_cells

FILE = "acceptance_derived.csv"
"""Beside the file of speed-ups."""
Key = tuple[str, str, str, int]
"""Target, method and data set as `key` writes them; draft tokens K."""
OF_METHOD = {"eagle3": "eagle", "eagle": "eagle", "ngram": "ngram"}
"""Which of the listed methods a row's length is taken from.

SpecDecode-Bench/simulator@260263c3d3388e5841c560faa1a942fdc4926cff: main.py plays its proposer `eagle3` with the
lengths that the file lists as EAGLE.
"""
BORROWED = {"eagle": "accepted length of EAGLE-3: that of EAGLE is not published"}
"""Methods that have no length of their own."""


class AcceptedLength(NamedTuple):
    """A published accepted length, and what is to be said of it."""

    tokens: float
    """Committed tokens per step, bonus token included."""
    first: float
    """Chance that the first draft token is accepted, over all steps [0 to 1]."""
    borrowed: str = ""


def word(text: str) -> str:
    """A name without what sources write differently.

    >>> word("Llama-3.1-8B"), word("CNN/DailyMail"), word("n-gram")
    ('llama318b', 'cnn', 'ngram')
    """
    return "".join(letter for letter in text.split("/")[0].lower() if letter.isalnum())


def published(folder: Path) -> Mapping[Key, float]:
    """The lengths of the file in a folder; none where there is no file."""
    path = folder / FILE
    if not path.is_file():
        return {}
    found = {}
    for _, line in csv_cells.read_lines(path, lambda columns: None):
        names = (word(line["target"]), word(line["method"]), word(line["dataset"]))
        found[(*names, int(line["draft_len"]))] = float(line["mean_accept_len_incl_bonus"])
    return found


def accepted_length(
    known: Mapping[Key, float], target: str, method: str, dataset: str, draft_tokens: int
) -> AcceptedLength | None:
    """Accepted length of a configuration that does not state its own.

    known: of `published`.
    method: as in OF_METHOD.
    draft_tokens: K. [tokens]
    """
    names = (word(target), OF_METHOD.get(method, ""), word(dataset))
    tokens, at_one = known.get((*names, draft_tokens)), known.get((*names, 1))
    if tokens is None or at_one is None:
        return None
    return AcceptedLength(tokens, at_one - 1.0, BORROWED.get(method, ""))
