"""Tooltips and heads of tables are the glossary's texts, and lead there."""

import re
from pathlib import Path

import pytest

pytest.importorskip("streamlit", reason="needs streamlit")

from app.dashboard.terms import head, linked, tip
from app.glossary import term, terms

APP = Path(__file__).parents[3] / "app"
USED = re.compile(r"\b(?:tip|linked|term)\((?:[^()\"]*, )?\"([a-z0-9-]+)\"")


def test_a_tooltip_is_the_glossarys_text_with_its_formula_and_leads_there():
    said = tip("acceptance-rate", "Of all requests.")

    assert said.startswith("Of all requests.")
    assert "**Acceptance rate**" in said
    assert "accepted ÷ drafted tokens" in said
    assert said.endswith("[Glossary](glossary?word=acceptance-rate)")


def test_a_dollar_of_a_tooltip_begins_no_formula():
    assert re.findall(r"(?<!\\)\$", tip("m-output")) == []


def test_the_head_of_a_column_is_a_link_where_it_is_a_word():
    assert head("TPOT p95") == linked("TPOT p95", "tpot")
    assert 'href="glossary?word=tpot"' in str(head("TPOT p95"))
    assert head("per hour as described") == "per hour as described"


def test_what_a_user_wrote_is_escaped_in_a_head():
    assert "<b>" not in str(head("TPOT <b>"))


def test_every_word_that_is_explained_stands_in_the_glossary():
    used = {key for path in APP.rglob("*.py") for key in USED.findall(path.read_text(encoding="utf-8"))}

    assert used - set(terms()) == set()
    assert "tpot" in used
    assert term("tpot")
