"""The built-in scenarios, the starter, and how files are found."""

import subprocess
import sys
from pathlib import Path

import pytest

from scenarios.files import builtin_names, find_scenarios
from scenarios.load import load_scenario
from scenarios.starter import starter_text
from simulator.errors import ScenarioError
from tests.scenarios.examples import CHAT, edited

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", builtin_names())
def test_a_built_in_scenario_loads_and_says_what_it_asks_and_assumes(name):
    loaded = load_scenario(name)

    text = (ROOT / "scenarios" / f"{name}.yaml").read_text()
    assert loaded.points
    assert "# Question: " in text
    assert "# Assumptions" in text
    assert loaded.points[0].scenario.description.endswith("?")


def test_the_built_in_scenarios_are_those():
    assert builtin_names() == [
        "code_completion",
        "cpu_smollm2",
        "eagle_heads",
        "h200_vs_b200_chat",
        "llama_405b",
        "long_context",
        "long_context_split_cache",
        "moe_subset",
        "multi_draft_code_math_prose",
        "offline_batch",
        "reasoning_long_outputs",
        "saturated",
    ]


@pytest.mark.parametrize(
    "name", ["saturated", "saturated.yaml", "scenarios/saturated.yaml", "./scenarios/saturated.yaml"]
)
def test_a_built_in_is_found_from_anywhere_by_name_or_by_its_path_in_a_clone(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    assert load_scenario(name).name == "saturated"


def test_a_file_of_ones_own_comes_before_a_built_in(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("saturated.yaml").write_text(CHAT)

    assert load_scenario("saturated.yaml").name == "chat"
    assert load_scenario("saturated").name == "saturated"


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("saturate", "no such file and no such built-in scenario; nearest: saturated"),
        ("elsewhere/saturated.yaml", "no such file and no such built-in scenario; nearest: saturated"),
        ("zzz", "known: code_completion, cpu_smollm2, eagle_heads"),
        ("x" * 5000, "no such file"),
        ("a\0b", "no such file"),
        ("", "a folder; name one of its files"),
        (".", "a folder; name one of its files"),
    ],
)
def test_a_file_that_is_not_there_is_told_with_the_nearest(name, part, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    with pytest.raises(ScenarioError, match=part):
        load_scenario(name)


def test_a_misspelt_file_of_ones_own_is_told_too(tmp_path):
    (tmp_path / "my_chat.yaml").write_text(CHAT)

    with pytest.raises(ScenarioError, match=r"nearest: my_chat\.yaml"):
        load_scenario(tmp_path / "my_chatt.yaml")


def test_a_file_that_is_no_text_is_refused(tmp_path):
    file = tmp_path / "chat.yaml"
    file.write_bytes(b"name: \xff\xfe")

    with pytest.raises(ScenarioError, match="not UTF-8 text at byte 6"):
        load_scenario(file)


def test_a_byte_order_mark_is_no_obstacle(tmp_path):
    file = tmp_path / "chat.yaml"
    file.write_bytes(b"\xef\xbb\xbf" + CHAT.encode())

    assert load_scenario(file).path == file


def test_a_folder_is_the_list_of_its_scenario_files(tmp_path):
    for name in ("b.yaml", "a.yml", ".hidden.yaml", "notes.txt"):
        (tmp_path / name).write_text(CHAT)

    assert find_scenarios(tmp_path) == [str(tmp_path / "a.yml"), str(tmp_path / "b.yaml")]
    assert find_scenarios("saturated") == ["saturated"]


def test_a_folder_without_scenarios_is_an_error(tmp_path):
    with pytest.raises(ScenarioError, match="no scenario file"):
        find_scenarios(tmp_path)


def test_the_starter_loads_and_explains_every_key_it_uses():
    loaded = load_scenario("starter.yaml", text=starter_text())

    assert set(loaded.points[0].scenario.deployments) == {"h200-plain", "h200-spec", "h200-head", "b200-spec"}


def test_what_the_starter_suggests_loads_too():
    lines = starter_text().splitlines()
    start = lines.index("# sweep:")
    suggested = [line.removeprefix("# ") if line.startswith("# ") else line for line in lines[start:]]
    suggested = [line for line in suggested if not line[:1].isupper()]

    loaded = load_scenario("starter.yaml", text="\n".join(lines[:start] + suggested))

    assert len(loaded.points) == 9
    assert len(loaded.asserts) == 2


def test_a_loaded_scenario_cannot_be_changed():
    with pytest.raises(AttributeError):
        load_scenario("saturated").name = "other"


def test_the_same_text_is_the_same_scenario():
    assert load_scenario("x.yaml", text=CHAT) == load_scenario("x.yaml", text=CHAT)
    assert load_scenario("x.yaml", text=CHAT) != load_scenario("x.yaml", text=edited(("seed: 7", "seed: 8")))


def test_loading_needs_no_heavy_package():
    code = (
        "import sys, scenarios.load; scenarios.load.load_scenario('saturated');"
        "print([m for m in ('numpy', 'pandas', 'pyarrow', 'simpy', 'torch', 'streamlit') if m in sys.modules])"
    )

    out = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout

    assert out.strip() == "[]"
