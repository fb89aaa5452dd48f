"""Traces in the dashboard: taken by name, kept apart, replayed in place of drawn requests."""

import json

import pytest

from app.dashboard import traces
from app.dashboard.document import checked, edited, from_mapping, mapping_of, with_named_trace, with_trace_file
from app.dashboard.plan_question import Question, plan_text
from app.dashboard.planned import key_of, load, read_plan
from app.dashboard.traces import SAMPLE, TraceStore, folder_traces, safe_name
from app.tables.trace import facts
from scenarios.load import load_scenario
from scenarios.store import point_hash, to_yaml
from simulator.cluster.traces import read_trace
from simulator.errors import ScenarioError
from simulator.planning.workload_fit import summary

AZURE = b"TIMESTAMP,ContextTokens,GeneratedTokens\n" + b"".join(
    b"2023-11-16 18:15:%02d.0,%d,%d\n" % (second, 400 + second, 50 + second) for second in range(60)
)


@pytest.fixture(scope="module")
def chat():
    return load_scenario("h200_vs_b200_chat")


@pytest.fixture(scope="module")
def store():
    return TraceStore()


def replaying(chat, name):
    mapping = mapping_of(chat)
    return mapping | {
        "workload": mapping["workload"] | {"arrivals": {"kind": "trace", "file": name}, "lengths": {"kind": "trace"}}
    }


def test_a_scenario_names_a_trace_and_not_where_it_lies(chat, store):
    path = store.add("mine.csv", AZURE)

    loaded = from_mapping(replaying(chat, "mine.csv"), {"mine.csv": path})

    assert loaded.points[0].scenario.workload.arrivals.file == str(path)
    assert mapping_of(loaded) == replaying(chat, "mine.csv")


def test_a_file_that_says_a_folder_finds_the_trace_of_that_name(chat, store):
    known = {"mine.csv": store.add("mine.csv", AZURE)}

    loaded = checked(to_yaml(replaying(chat, "/somewhere/else/mine.csv")), traces=known)

    assert mapping_of(loaded)["workload"]["arrivals"]["file"] == "mine.csv"


def test_a_trace_that_is_not_known_is_refused_with_the_way_to_bring_it(chat, store):
    with pytest.raises(ScenarioError, match=r"'other\.csv': .*upload it on the page Load") as error:
        from_mapping(replaying(chat, "other.csv"), {"mine.csv": store.add("mine.csv", AZURE)})

    assert str(error.value).startswith("scenario.yaml:")
    assert "no such trace" not in str(error.value)


def test_a_sweep_names_no_trace_not_even_a_known_one(chat, store):
    known = {"mine.csv": store.add("mine.csv", AZURE)}

    with pytest.raises(ScenarioError, match="traces are files of the server"):
        from_mapping(mapping_of(chat) | {"sweep": {"workload.arrivals.file": ["mine.csv"]}}, known)


def test_other_values_are_edited_while_a_trace_is_replayed(chat, store):
    known = {"mine.csv": store.add("mine.csv", AZURE)}
    loaded = from_mapping(replaying(chat, "mine.csv"), known)

    found = edited(loaded, {"workload.arrivals.time_scale": 2.0, "seed": 4}, known).points[0].scenario

    assert (found.workload.arrivals.time_scale, found.seed) == (2.0, 4)


def test_two_traces_of_one_name_are_two_scenarios(chat, store):
    first, second = store.add("mine.csv", AZURE), store.add("mine.csv", AZURE + AZURE.splitlines(keepends=True)[-1])

    hashes = {
        point_hash(from_mapping(replaying(chat, "mine.csv"), {"mine.csv": path}).points[0].scenario)
        for path in (first, second)
    }

    assert first.name == second.name
    assert len(hashes) == 2


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "mine.csv: the trace is empty"),
        (b"a,b\n1,2\n", "mine.csv:1: .*known"),
        (AZURE + b"2023-11-16 18:17:00.0,many,1\n", "mine.csv:62: ContextTokens is 'many': a whole number is needed"),
        (b"\xff\xfe\x00", "mine.csv: not UTF-8"),
        (b'{"arrival_s": ' + b"[" * 100_000, "mine.csv:1: not JSON"),
        (b" " * (traces.MOST_BYTES + 1), r"mine.csv: 4\.0 MB; a browser brings at most 4 MB: cut it"),
    ],
)
def test_an_upload_that_is_no_trace_is_refused_in_one_sentence_and_not_kept(store, data, told):
    with pytest.raises(ScenarioError, match=told) as error:
        store.add("../mine.csv", data)

    assert "\n" not in str(error.value)
    assert "specfleet-traces" not in str(error.value)


def test_the_trace_that_was_brought_first_goes_first(monkeypatch):
    monkeypatch.setattr(traces, "MOST_KEPT", 2)
    store = TraceStore()

    paths = [store.add("t.csv", AZURE + b"2023-11-16 18:17:0%d.0,9,9\n" % second) for second in range(3)]

    assert [path.exists() for path in paths] == [False, True, True]


def test_a_name_is_never_a_path():
    assert safe_name("..\\..\\x/../etc/passwd") == "passwd"
    assert safe_name("/") == "trace"
    assert len(safe_name("a" * 500 + ".csv")) == 80


def test_the_servers_folder_offers_what_a_browser_may_replay(monkeypatch, tmp_path):
    monkeypatch.setenv("SPECFLEET_TRACES", str(tmp_path))
    (tmp_path / "good.csv").write_bytes(AZURE)
    (tmp_path / "notes.md").write_text("none")
    (tmp_path / "large.csv").write_bytes(b" " * (traces.MOST_BYTES + 1))
    (tmp_path / "folder.csv").mkdir()

    assert folder_traces() == {"good.csv": tmp_path / "good.csv"}


def test_without_a_folder_no_trace_of_the_server_is_on_offer(monkeypatch, tmp_path):
    monkeypatch.setenv("SPECFLEET_TRACES", str(tmp_path / "none"))

    assert folder_traces() == {}


def test_the_sample_is_a_trace_of_what_it_says_it_is_drawn_from(store):
    table = read_trace(store.sample())
    first = json.loads(store.sample().read_text().splitlines()[0])

    assert (store.sample().name, table.format, table.size) == (SAMPLE, "plain", 2048)
    assert set(first) == {"arrival_s", "prompt_tokens", "output_tokens"}
    assert 1000 < table.prompt_tokens.mean() < 1300


def test_a_plan_is_searched_for_a_trace_and_told_apart_by_its_content(chat, store):
    known = {"mine.csv": store.add("mine.csv", AZURE)}
    mapping = with_trace_file(replaying(chat, "mine.csv"), known)

    loaded = load(plan_text(mapping, Question()), traces=known)

    assert loaded.scenario.workload.arrivals.file == str(known["mine.csv"])
    assert key_of(plan_text(mapping, Question()), simulate=False) != key_of(
        plan_text(with_trace_file(mapping, {"mine.csv": store.add("mine.csv", AZURE + b"\n")}), Question()),
        simulate=False,
    )


def test_a_plan_file_finds_its_trace_by_name(chat, store):
    text = plan_text(replaying(chat, "mine.csv"), Question())

    scenario, _ = read_plan(text, "plan.yaml", {"mine.csv": store.add("mine.csv", AZURE)})

    assert with_named_trace(scenario)["workload"]["arrivals"]["file"] == "mine.csv"


def test_a_trace_of_many_classes_is_read_at_once_and_told_in_a_few(store):
    header = b"Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
    rows = b"".join(b"%d,m,9,9,18,kind%d\n" % (number, number) for number in range(5000))

    said = dict(facts(summary(read_trace(store.add("classes.csv", header + rows)))))

    assert said["classes"].endswith("kind11 0.0% · and 4,988 others")
