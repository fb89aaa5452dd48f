"""Text in four domains, from what is on every Python installation: prompts to measure acceptance with.

Code: the standard library's own source (PSF licence). Prose: the language reference in `pydoc_data.topics` (PSF).
Mathematics and dialogue: word problems (templates whose numbers change) and questions, written for this project: they
are much alike, so that the scatter over requests is narrower than that of real users.
"""

import re
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

PIECES = 4
"""Places of a source file that are taken, the first definitions first."""

PROBLEMS = (
    "A shop sells {a} boxes of {b} pencils each. {c} pencils are broken. How many pencils are good?",
    "A train travels {a} km in the first hour and {b} km in each of the next {c} hours. How far does it travel?",
    "Anna has {a} marbles. She gives {b} to each of her {c} friends. How many are left?",
    "A tank holds {a} litres. {b} litres leak out every hour. How much is left after {c} hours?",
    "A field is {a} m long and {b} m wide. Fence costs {c} dollars a metre. What does a fence around it cost?",
    "{c} machines make {a} screws in {b} hours. How many screws does one machine make in an hour?",
    "A book has {a} pages. Ben reads {b} pages a day on weekdays and {c} pages on Sunday. How many weeks does he need?",
    "A baker makes {a} rolls and packs them in bags of {b}. He eats {c} of what is left over. How many remain?",
    "The sum of two numbers is {a} and their difference is {b}. What is {c} times the larger one?",
    "A ticket costs {b} dollars, for children {c} dollars less. {a} adults and {c} children go in. What do they pay?",
    "A car needs {b} litres of fuel for 100 km. How much fuel does it need for {a} km, and for {c} such trips?",
    "Lena saves {b} dollars a month and has {a} dollars already. In how many months has she {c} hundred dollars more?",
    "A water lily doubles its area every {c} days. It covers {b} square metres now. What does it cover after {a} days?",
    "Paint for {b} square metres comes in one can. How many cans does a wall of {a} by {c} metres need?",
    "{a} pupils go on a trip in buses of {b} seats. {c} teachers come along. How many buses are needed?",
    "A clock loses {c} minutes a day. It is set right at noon. What does it show after {b} days and {a} minutes?",
)
"""Word problems; the numbers are filled in."""

PROBLEM_PROMPTS = 64
"""Prompts of word problems: each template with four sets of numbers."""

QUESTIONS = (
    "What is the difference between a list and a tuple in Python?",
    "Can you suggest a simple dinner with rice and vegetables?",
    "Why is the sky blue?",
    "Write a short letter to a landlord about a broken heater.",
    "How do I learn to play the guitar?",
    "Explain what a capital city is, with three examples.",
    "What should I pack for a three-day hike?",
    "Tell me a short story about a lighthouse keeper.",
    "How does a bicycle stay upright?",
    "Write an invitation to a birthday party in a garden.",
    "What is inflation, in simple words?",
    "My plant has yellow leaves. What can be the reason?",
    "Give me five ideas for a rainy afternoon with children.",
    "How do vaccines work?",
    "Please write a polite reminder about an unpaid invoice.",
    "What is the water cycle?",
    "How can I sleep better?",
    "Describe a market in a small town on a summer morning.",
    "What is the difference between weather and climate?",
    "Help me to prepare for a job interview as a nurse.",
    "How do I change a flat tyre?",
    "Why do leaves change their colour in autumn?",
    "Write a poem of eight lines about the sea.",
    "Which exercises help against back pain from sitting?",
    "What does a database index do?",
    "Plan a weekend in a city with many museums for two people.",
    "How is bread made?",
    "Explain photosynthesis to a ten-year-old.",
    "What are good questions to ask a new neighbour?",
    "Write a product description for a wooden chair.",
    "How do I remove a red wine stain from a shirt?",
    "Who was Marie Curie, and what did she find?",
    "What is a fair way to share housework?",
    "Summarise the rules of chess.",
    "How do I start a small vegetable garden on a balcony?",
    "Tell me a joke about a programmer.",
    "What are the advantages of trains over planes?",
    "Write a short dialogue between a customer and a shoemaker.",
    "How can I learn twenty words of a language a day?",
    "What should a first-aid kit hold?",
    "Why do we have leap years?",
    "Give me a recipe for a soup from what is left in the fridge: carrots, potatoes, an onion.",
    "How do noise-cancelling headphones work?",
    "Write a speech of one minute for the opening of a library.",
    "What is the difference between a virus and a bacterium?",
    "How do I say no to a friend who borrows money?",
    "Explain how a mortgage works.",
    "Describe your ideal holiday by a lake.",
)
"""What users ask."""


def code() -> Iterator[str]:
    """Source from the first function on, module by module; then from later functions and classes on."""
    sources = [source for name in CODE_MODULES if (source := _source(name))]
    yield from (source[max(source.find("\ndef "), 0) :].lstrip() for source in sources)
    places = [[place.start() for place in re.finditer(r"\n(?:def|class) ", source)] for source in sources]
    for piece in range(1, PIECES):
        for source, starts in zip(sources, places, strict=True):
            if len(starts) > 2 * PIECES:
                yield source[starts[piece * len(starts) // PIECES] :].lstrip()


def _source(module: str) -> str:
    spec = find_spec(module)
    known = spec is not None and spec.origin is not None and spec.origin.endswith(".py")
    return Path(str(spec.origin)).read_text(encoding="utf-8") if spec is not None and known else ""


def prose() -> Iterator[str]:
    """Sections of the language reference that are long enough to be prose; then what stands later in the long ones."""
    from pydoc_data.topics import topics

    sections = [[p for p in topics[name].split("\n\n") if "::=" not in p and len(p) > 200] for name in sorted(topics)]
    yield from ("\n\n".join(paragraphs) for paragraphs in sections if len(paragraphs) >= 2)
    yield from ("\n\n".join(paragraphs[3:]) for paragraphs in sections if len(paragraphs) >= 5)


def mathematics() -> Iterator[str]:
    """Word problems with one worked example before each."""
    example = (
        "Question: Tom has 3 bags of 4 apples. How many apples has he?\nAnswer: 3 bags of 4 apples are 3 * 4 = 12.\n\n"
    )
    for index, problem in enumerate(islice(cycle(PROBLEMS), PROBLEM_PROMPTS)):
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
    domain: str,
    count: int,
    encode: Callable[[str], list[int]],
    chat: Callable[[str], str],
    longest: int = 96,
    wanted: Callable[[str], bool] = bool,
) -> list[tuple[int, ...]]:
    """Prompts of a domain as tokens; texts to be continued are cut at the longest length, questions are not.

    wanted: which texts are taken.
    """
    texts = islice(filter(wanted, DOMAINS[domain]()), count)
    if domain == "dialogue":
        return [tuple(encode(chat(text))) for text in texts]
    return [tuple(encode(text[: 12 * longest])[:longest]) for text in texts]
