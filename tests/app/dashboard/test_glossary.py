"""The page Glossary."""

import pytest

pytest.importorskip("streamlit", reason="needs streamlit")

from app.dashboard.pages.glossary import found
from app.glossary import terms


def titles(dashboard):
    return [element.value for element in dashboard.at.subheader]


def test_every_word_has_its_place_with_its_formula(dashboard):
    dashboard.open("glossary")

    assert titles(dashboard) == [one.title for one in terms().values()]
    assert "(last token time − first token time) ÷ (output tokens − 1)" in dashboard.html


def test_a_word_is_found_by_its_name_by_another_name_or_by_what_it_means():
    assert "tpot" in [one.key for one in found("tpot")]
    assert "tokens-per-step" in [one.key for one in found("acceptance length")]
    assert "kv-tiers" in [one.key for one in found("PCIe")]
    assert len(found(" ")) == len(terms())


@pytest.mark.parametrize(("word", "first"), [("tpot", "TPOT"), ("no-such-word", "Target")])
def test_a_link_to_a_word_has_it_on_top(dashboard, word, first):
    dashboard.at.query_params["word"] = word

    dashboard.open("glossary")

    assert titles(dashboard)[0] == first
    assert not dashboard.at.exception


def test_what_is_not_there_is_said(dashboard):
    dashboard.open("glossary").move("glossary_find", "zzz")

    assert dashboard.at.info[0].value.startswith("No word here")
    assert not dashboard.at.subheader
