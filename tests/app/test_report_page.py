import json
import re
from html.parser import HTMLParser

import pytest

from app.report.markup import Markup, tag
from app.report.page import MOST_POINTS, report_html
from app.results import PointResult, put_together
from scenarios.load import load_scenario
from simulator.planning.estimate import guess_capacity
from simulator.planning.study import study, to_json_ready
from tests.app import toys
from tests.simulator.outcome import toys as queues

VOID = {"meta", "br", "hr"}
NASTY = """<script>alert(1)</script> "quoted" 'single' & </style><img src=x onerror=alert(2)>"""


class Reader(HTMLParser):
    """Checks that elements nest, and keeps what a browser would fetch or run."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.attributes, self.text, self.wrong = [], [], [], [], []

    def handle_starttag(self, name, attributes):
        self.tags.append(name)
        self.attributes += attributes
        if name not in VOID:
            self.open.append(name)

    def handle_startendtag(self, name, attributes):
        self.tags.append(name)
        self.attributes += attributes

    def handle_endtag(self, name):
        if not self.open or self.open.pop() != name:
            self.wrong.append((name, self.getpos()))

    def handle_data(self, text):
        self.text.append(text)


def read(page):
    reader = Reader()
    reader.feed(page)
    reader.close()
    return reader


def loaded(tmp_path_factory, *sets):
    file = tmp_path_factory.mktemp("report") / "small.yaml"
    file.write_text(toys.SMALL)
    return load_scenario(str(file), sets)


def page_of(scenario, **options):
    points = [
        PointResult(
            label_of(point.label),
            point.label,
            "0",
            to_json_ready(study(point.scenario, point=label_of(point.label), **options)),
            0.0,
        )
        for point in scenario.points
    ]
    return report_html(scenario, put_together(scenario.name, points, ()), points, "abc"), points


def label_of(values):
    from scenarios.store import label_of as of

    return of(values)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return page_of(loaded(tmp_path_factory), guess=guess_capacity)[0]


@pytest.fixture(scope="module")
def nasty(tmp_path_factory):
    """A run in which everything that a user may name or describe is an attack."""
    scenario = loaded(
        tmp_path_factory,
        f"description={json.dumps(NASTY)}",
        f"deployments.plain.price={{usd_per_gpu_hour: 2, source: {json.dumps(NASTY)}, as_of: 2026-01-01}}",
    )
    _, points = page_of(scenario, simulate=queues.simulate)
    raw = (
        json.dumps(points[0].result)
        .replace('"plain"', json.dumps(NASTY))
        .replace('"plain:', json.dumps(NASTY)[:-1] + ":")
    )
    attacked = PointResult("base", {}, "0", json.loads(raw), 0.0)
    summary = put_together(NASTY, [attacked], ())
    return report_html(scenario, summary, [attacked], NASTY)


def test_the_page_is_well_formed(page):
    reader = read(page)

    assert (reader.wrong, reader.open) == ([], [])


def test_it_has_what_the_design_asks_for(page):
    text = " ".join(read(page).text)

    for part in ("Winner", "Comparison", "TTFT p95 against load", "Goodput against load", "knee", "Time to first token", "KV cache in use",
                 "Requests that wait", "Where step time goes", "HBM of each GPU", "$/GPU-hour", "as of", "Assumptions", "sources"):  # fmt: skip
        assert part in text


def test_nothing_is_fetched_or_run(page):
    reader = read(page)

    assert not {"script", "link", "img", "iframe", "object", "embed", "base", "form", "a"} & set(reader.tags)
    assert not [name for name, _ in reader.attributes if name in ("src", "href", "action") or name.startswith("on")]
    assert not re.search(r"url\(|@import", page)
    assert any("default-src 'none'" in (value or "") for _, value in reader.attributes)


def test_addresses_stand_in_text_only(page):
    reader = read(page)

    assert not [value for _, value in reader.attributes if value and re.search(r"https?://", value)]


def test_whatever_a_user_writes_is_text(nasty):
    reader = read(nasty)

    assert (reader.wrong, reader.open) == ([], [])
    assert not {"script", "img"} & set(reader.tags)
    assert not [name for name, _ in reader.attributes if name.startswith("on")]
    assert "<script>alert(1)</script>" in " ".join(reader.text)


def test_every_drawing_has_a_name(page):
    drawings = re.findall(r'<svg[^>]*role="img"[^>]*>(<title>[^<]+</title>)?', page)

    assert len(drawings) >= 10
    assert all(drawings)


def test_dark_narrow_and_printed_pages_are_styled(page):
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page
    assert "width=device-width" in page


def test_the_same_study_gives_the_same_page(tmp_path_factory, page):
    assert page_of(loaded(tmp_path_factory), guess=guess_capacity)[0] == page


def test_a_batch_without_a_load_still_has_its_distributions(tmp_path_factory):
    sets = ("workload.arrivals={kind: queued_at_once}", "workload.horizon={requests: 40, warmup_requests: 0}")

    text = page_of(loaded(tmp_path_factory, *sets), simulate=queues.simulate)[0]

    assert "against load" not in text
    assert "End to end" in text


def test_what_does_not_fit_is_told_with_its_ledger(tmp_path_factory):
    text = page_of(loaded(tmp_path_factory, toys.TOO_LARGE))[0]

    assert "does not fit" in text
    assert read(text).wrong == []


def test_a_long_sweep_is_drawn_in_part_and_stays_small(tmp_path_factory):
    rates = [round(2 + step / 10, 1) for step in range(MOST_POINTS + 3)]
    scenario = loaded(tmp_path_factory, f"sweep={{workload.arrivals.rate_per_s: {rates}}}", "replications=1")

    text = page_of(scenario, simulate=queues.simulate)[0]

    assert f"The first {MOST_POINTS} of {len(rates)} points" in text
    assert text.count("Latency distributions") == MOST_POINTS
    assert len(text) < 6e6


def test_many_deployments_and_replications_stay_small(tmp_path_factory):
    file = tmp_path_factory.mktemp("many") / "many.yaml"
    more = "".join(f"  d{n}: {{extends: plain, price: {3 + n}}}\n" for n in range(11))
    file.write_text(toys.SMALL.replace("replications: 2", "replications: 12") + more)

    text = page_of(load_scenario(str(file)), simulate=queues.simulate)[0]

    assert "4 further deployments are in the table only" in text
    assert len(text) < 1e6


def test_markup_is_escaped_once():
    inner = tag("b", "<x>")

    assert tag("p", inner, " & ") == "<p><b>&lt;x&gt;</b> &amp; </p>"
    assert isinstance(inner, Markup)


def test_attributes_are_escaped_and_control_characters_dropped():
    assert tag("p", "a\x00b", title='"><script>') == '<p title="&quot;&gt;&lt;script&gt;">a\ufffdb</p>'
