"""The page Article: the claims as the library has them, filtered, unfolded, and the systems to open."""

import csv
import html
import re
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import parse_qs, urlsplit

import pytest

from app.dashboard import claimed
from app.dashboard.share import decode, encode
from scenarios.files import builtin_names
from scenarios.load import load_scenario
from simulator.planning.claims import article, cluster, experts, memory
from simulator.planning.claims.claim import VERDICTS
from tests.app.dashboard.looking import waited

FEW = (memory.b200_memory, memory.four_hundred_billion, experts.subset_bytes, cluster.candidate_transfer)
"""Claims 3, 4, 14 and 12, which need no step times."""
VERDICT = 'aria-label="The verdicts"'


def address(mapping):
    return f"/?s={encode(mapping)}"


@pytest.fixture(scope="module")
def found():
    """What a worker finds of the few claims."""
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(1) as executor:
        patch.setattr(article, "CLAIMS", FEW)
        return claimed.checking(executor, lambda done, total: None)


@pytest.fixture
def page(monkeypatch, dashboard, found):
    from app.dashboard import answers

    monkeypatch.setattr(claimed, "checking", lambda executor, progress: found)
    answers.all_jobs.clear()
    yield waited(dashboard.open("article"), VERDICT)
    answers.all_jobs.clear()


def lines(text):
    """Number → line of the table of claims, nested tables included."""
    found = re.split(r'<tr><th scope="row">(?=\d+</th>)', text)
    return {int(line.partition("<")[0]): html.unescape(line) for line in found[1:]}


def table_of(dashboard):
    return next(element.proto.body for element in dashboard.at.get("html") if "the article says" in element.proto.body)


def test_claims_stand_there_in_order_with_what_is_claimed_and_the_verdict_in_words(page):
    shown = lines(table_of(page))

    assert list(shown) == [3, 4, 12, 14]
    assert all(f"{claimed.ICONS[v]} {v}</span>" in shown[n] for n, v in {3: "does not hold", 4: "impossible"}.items())
    assert "288 GB" in shown[3]


def test_every_figure_is_the_librarys_own(page):
    shown = lines(table_of(page))

    for claim in (check() for check in FEW):
        for figure in claim.figures[: claimed.MOST_FIGURES]:
            assert figure.text in re.sub("</?strong>", "", shown[claim.number])
        assert claim.condition in shown[claim.number]


def test_what_does_not_stand_in_the_table_stands_in_the_arithmetic(found):
    row = next(row for row in found["rows"] if row["number"] == 14)
    figures = [*row["figures"], *({"name": f"another {n}", "low": n, "high": n + 1, "unit": ""} for n in (1, 2))]

    text = claimed.claims_table(found, [{**row, "figures": figures}], address)

    assert "and 1 figure more" in text
    assert text.count('<tr><th scope="row"') == 1 + len(figures)
    assert '<th scope="row">another 2</th><td>2</td><td>3</td>' in text


def test_the_verdicts_are_counted_and_explained_on_top(page):
    said = page.html

    assert "4 claims of the article</strong>: 0 hold as stated" in said
    assert "<dt>⊘ impossible</dt><dd>2 claims: the article&#x27;s own figures exclude it</dd>" in said


@pytest.mark.parametrize(
    ("verdicts", "about", "left"),
    [
        ([], [], [3, 4, 12, 14]),
        (["impossible"], [], [4, 14]),
        ([], ["memory"], [3, 4]),
        (["impossible"], ["memory"], [4]),
        (["holds"], [], []),
    ],
)
def test_claims_are_filtered_by_verdict_and_by_topic(found, verdicts, about, left):
    assert [row["number"] for row in claimed.filtered(found, verdicts, about)] == left


def test_a_chosen_verdict_leaves_its_claims_in_the_table(page):
    page.move("article_verdicts", ["impossible"])

    assert list(lines(table_of(page))) == [4, 14]


def test_a_filter_that_nothing_passes_says_what_to_do(page):
    page.move("article_verdicts", ["holds"])

    assert "choose others" in page.at.info[0].value


def test_every_system_of_the_article_has_a_link_that_opens_the_same_scenario(found):
    assert [f"article/{name}" for name in found["systems"]] == builtin_names("article")
    for name, of in found["systems"].items():
        ours, theirs = decode(encode(of["mapping"])), load_scenario(f"article/{name}").points[0].scenario
        assert list(ours["deployments"]) == list(theirs.deployments)


def test_a_link_of_a_claim_opens_its_system_on_compare(page):
    found = re.search(r'<a href="([^"]*)">Open four_drafts_400b in Compare</a>', lines(table_of(page))[4])
    link = urlsplit(html.unescape(found[1]))
    page.at.query_params["s"] = parse_qs(link.query)["s"][0]
    page.at.run()

    assert link.path == "/"
    assert page.scenario() == load_scenario("article/four_drafts_400b").points[0].scenario


def test_the_csv_has_a_line_for_each_figure_unrounded(found):
    rows = list(csv.DictReader(claimed.as_csv(found["rows"]).decode().splitlines()))

    figures = [figure for row in found["rows"] for figure in row["figures"]]
    assert [(row["figure"], float(row["low"]), float(row["high"])) for row in rows] == [
        (figure["name"], figure["low"], figure["high"]) for figure in figures
    ]
    assert rows[0]["topic"] == "memory"


def test_where_the_figures_come_from_is_told(page, found):
    assert "specfleet claims --json" in page.html
    assert found["date"] in page.html
    assert "h200-sxm-vllm (" in page.html


def test_a_check_that_failed_says_why_and_can_be_asked_for_again(monkeypatch, dashboard, found):
    from app.dashboard import answers
    from simulator.errors import CatalogError

    def fails(executor, progress):
        raise CatalogError("the catalog is gone")

    answers.all_jobs.clear()
    monkeypatch.setattr(claimed, "checking", fails)
    waited(dashboard.open("article"), "the catalog is gone")
    monkeypatch.setattr(claimed, "checking", lambda executor, progress: found)
    dashboard.press("article_ask")

    assert VERDICT in waited(dashboard, VERDICT).html


def test_every_verdict_has_a_sign_and_a_colour_of_its_own():
    assert set(claimed.ICONS) == set(claimed.TONES) == set(VERDICTS)
    assert len(set(claimed.ICONS.values())) == len(VERDICTS)
