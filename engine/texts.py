"""Real text in four domains, from what is on every Python installation: prompts to measure acceptance with.

Code: the standard library's own source (PSF licence). Prose: the language reference in `pydoc_data.topics` (PSF).
Mathematics and dialogue: word problems and questions written for this project.
"""

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import cycle, islice
from pathlib import Path

CODE_MODULES = (
    "textwrap", "heapq", "bisect", "csv", "shlex", "statistics", "fractions", "queue", "sched", "cmd", "calendar",
    "difflib", "configparser", "argparse", "cgitb", "code", "codeop", "copy", "dis", "filecmp", "fileinput", "ftplib",
    "gettext", "gzip", "hashlib", "imaplib", "inspect", "locale", "mailbox", "netrc", "numbers", "optparse", "pdb",
    "pprint", "profile", "random", "selectors", "smtplib", "socketserver", "string", "tarfile", "zipfile",
)  # fmt: skip
"""Modules whose source is code to be continued; those that an installation lacks are passed over."""

PROBLEMS = (
    "A shop sells {a} boxes of {b} pencils each. {c} pencils are broken. How many pencils are good?",
    "A train travels {a} km in the first hour and {b} km in each of the next {c} hours. How far does it travel?",
    "Anna has {a} marbles. She gives {b} to each of her {c} friends. How many are left?",
    "A tank holds {a} litres. {b} litres leak out every hour. How much is left after {c} hours?",
)

QUESTIONS = (
    "What is the difference between a list and a tuple in Python?",
    "Can you suggest a simple dinner with rice and vegetables?",
    "Why is the sky blue?",
    "Write a short letter to a landlord about a broken heater.",
    "How do I learn to play the guitar?",
    "Explain what a capital city is, with three examples.",
    "What should I pack for a three-day hike?",
    "Tell me a short story about a lighthouse keeper.",
)


def code() -> Iterator[str]:
    """Source from the first function on, module by module."""
    for name in CODE_MODULES:
        spec = find_spec(name)
        if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
            continue
        source = Path(spec.origin).read_text(encoding="utf-8")
        start = source.find("\ndef ")
        yield source[max(start, 0) :].lstrip()


def prose() -> Iterator[str]:
    """Sections of the language reference that are long enough to be prose."""
    from pydoc_data.topics import topics

    for name in sorted(topics):
        paragraphs = [p for p in topics[name].split("\n\n") if "::=" not in p and len(p) > 200]
        if len(paragraphs) >= 2:
            yield "\n\n".join(paragraphs)


def mathematics() -> Iterator[str]:
    """Word problems with one worked example before each."""
    example = (
        "Question: Tom has 3 bags of 4 apples. How many apples has he?\nAnswer: 3 bags of 4 apples are 3 * 4 = 12.\n\n"
    )
    for index, problem in enumerate(islice(cycle(PROBLEMS), 4 * len(PROBLEMS))):
        filled = problem.format(a=120 + 7 * index, b=3 + index, c=4 + index % 5)
        yield f"{example}Question: {filled}\nAnswer:"


def dialogue() -> Iterator[str]:
    """Questions of a user; to be put into a chat template."""
    yield from QUESTIONS


DOMAINS: dict[str, Callable[[], Iterator[str]]] = {
    "code": code,
    "prose": prose,
    "math": mathematics,
    "dialogue": dialogue,
}


def prompts(
    domain: str, count: int, encode: Callable[[str], list[int]], chat: Callable[[str], str], longest: int = 96
) -> list[tuple[int, ...]]:
    """Prompts of a domain as tokens; texts to be continued are cut at the longest length, questions are not."""
    texts = islice(DOMAINS[domain](), count)
    if domain == "dialogue":
        return [tuple(encode(chat(text))) for text in texts]
    return [tuple(encode(text[: 12 * longest])[:longest]) for text in texts]
