"""docs/gate.md and its workflow: the lines are read, the commands exist."""

import re
import shlex
from pathlib import Path

import typer.main
import yaml

from app.main import build_app
from scenarios.asserts import COMPARISONS, STATISTICS, parse_assert

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "gate.md").read_text(encoding="utf-8")
WORKFLOW = yaml.safe_load((DOCS / "examples" / "capacity-gate.yml").read_text(encoding="utf-8"))


def test_the_lines_of_the_page_are_read():
    lines = yaml.safe_load(re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[1])["assert"]

    assert [parse_assert(line, ["h200-plain", "h200-spec"]).text for line in lines] == lines
    assert [line for line in lines if f"  {line}" not in PAGE.split("$ specfleet run")[1]] == []


def test_the_grammar_of_the_page_is_that_of_the_code():
    grammar = re.search(r"## The grammar\n\n```\n(.*?)```", PAGE, re.DOTALL)[1]

    assert re.search(r"OP: +(.*)", grammar)[1].split() == sorted(COMPARISONS, key=list(COMPARISONS).index)
    assert tuple(re.search(r"statistic = ([a-z0-9 |]+?)  ", grammar)[1].split(" | ")) == STATISTICS


def test_the_commands_of_the_workflow_exist():
    steps = [step["run"] for step in WORKFLOW["jobs"]["gate"]["steps"] if "run" in step]
    commands = [shlex.split(step)[1:] for step in steps if step.startswith("specfleet ")]
    known = typer.main.get_command(build_app()).commands

    assert len(commands) == 2
    for name, *arguments in commands:
        options = {option for parameter in known[name].params for option in parameter.opts}
        assert {argument for argument in arguments if argument.startswith("--")} <= options
