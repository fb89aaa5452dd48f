"""The glossary: one page, read by everything that explains a word."""

from collections import Counter
from pathlib import Path

import pytest

from app.glossary import PAGE, anchor, named, term, terms

LONGEST = 300
"""Characters of an entry: a tooltip is read in one look."""


def test_every_entry_says_what_the_word_means_in_few_sentences():
    wrong = [found.key for found in terms().values() if not found.says.endswith(".") or len(found.says) > LONGEST]

    assert wrong == []
    assert len(terms()) == PAGE.read_text(encoding="utf-8").count("\n### ")


def test_every_quantity_has_a_unit():
    assert [found.key for found in terms().values() if found.formula and not found.unit] == []


def test_no_name_means_two_things():
    names = Counter(name.lower() for found in terms().values() for name in {found.title, *found.also})

    assert [name for name, number in names.items() if number > 1] == []


def test_no_line_of_an_entry_is_lost():
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("- ")]
    known = [bool(found.unit) + bool(found.formula) + bool(found.also) for found in terms().values()]

    assert sum(known) == len(lines)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("TPOT p95 ≤ 30 ms", "tpot"),
        ("$/M output", "m-output"),
        ("$/M output at capacity", "m-output-at-capacity"),
        ("per M output, at capacity", "m-output-at-capacity"),
        ("capacity /s", "capacity"),
        ("draft ÷ target, FLOPs", "flop-ratio"),
        ("fastest K", "draft-tokens-k"),
        ("KV use, mean / peak", "kv-cache"),
        ("Kelvin", None),
    ],
)
def test_a_title_is_known_by_how_it_begins(text, key):
    found = named(text)

    assert (found and found.key) == key


def test_the_words_of_the_field_are_there():
    keys = (
        "ttft tpot itl e2e goodput target draft draft-tokens-k acceptance survival tokens-per-step speed-up tree union "
        "router-of-drafts head co-located dedicated asynchronous replica tensor-parallel-tp hbm-ledger kv-tiers "
        "draft-window slo capacity utilisation m-output measured simulated estimated assumed held-out-error"
    )

    assert [key for key in keys.split() if term(key).title == ""] == []


def test_anchors_are_those_that_a_page_of_markdown_has():
    assert [anchor(found.title) for found in terms().values()] == list(terms())


def test_the_concepts_lead_to_it():
    concepts = Path(PAGE.parents[1], "docs", "concepts.md").read_text(encoding="utf-8")

    assert "(../app/glossary.md)" in concepts
