"""The tour of the first page, and where help is found."""

from app.dashboard.cards import CARDS
from app.dashboard.document import mapping_of
from app.dashboard.share import encode
from app.dashboard.tour import sentences
from scenarios.load import load_scenario


def shown(dashboard):
    return "What the four numbers say" in dashboard.html


def numbers(dashboard):
    """The answer, as the page says it."""
    return [element.proto.body for element in dashboard.at.get("html") if "sf-cards" in element.proto.body]


def test_a_first_visit_explains_the_four_numbers_in_four_sentences(dashboard):
    dashboard.open()

    assert shown(dashboard)
    assert sentences().count("<dd>") == sentences().count(".</dd>") == len(CARDS) == 4
    assert all(card.title in dashboard.html for card in CARDS)


def test_it_goes_when_it_is_closed_and_changes_no_number(dashboard):
    before = numbers(dashboard.open())

    dashboard.press("tour_close")

    assert not shown(dashboard)
    assert numbers(dashboard) == before != []


def test_a_browser_that_closed_it_is_told_to_remember(dashboard):
    dashboard.open().press("tour_close")
    first = dashboard.html
    dashboard.move("rate", 14.0)

    assert "document.cookie" in first
    assert "document.cookie" not in dashboard.html


def test_a_link_shows_what_it_holds_and_no_tour(dashboard):
    dashboard.open(link=encode(mapping_of(load_scenario("h200_vs_b200_chat"))))

    assert not shown(dashboard)


def test_it_is_called_again_from_any_page(dashboard):
    dashboard.open().press("tour_close").open("memory")

    dashboard.press("tour_call")

    assert shown(dashboard)
    assert numbers(dashboard) != []
