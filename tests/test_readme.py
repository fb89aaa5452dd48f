"""What the README says is there, and what it quotes is what came out."""

import json
import re
import shlex
from pathlib import Path

import pytest
import typer.main

from app.main import build_app
from docs.pictures import make_pictures
from scenarios.files import builtin_names
from scenarios.load import load_scenario

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
DEMO = json.loads(make_pictures.DEMO.read_text(encoding="utf-8"))
COMMANDS = re.findall(r"^\$ (specfleet .*?)(?: +#.*)?$", README, re.MULTILINE)


def options_of(command):
    return {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_and_option_exists(line):
    _, name, *arguments = shlex.split(line.partition("|")[0])

    command = typer.main.get_command(build_app()).commands[name]
    if hasattr(command, "commands"):
        command = command.commands[arguments[0]]

    assert {argument for argument in arguments if argument.startswith("--")} <= options_of(command)


def test_commands_are_quoted_at_all():
    assert len(COMMANDS) >= 8


def test_every_target_of_make_exists():
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)

    assert set(re.findall(r"\bmake ([a-z]+)\b(?=`|$)", README, re.MULTILINE)) <= set(targets)


def test_the_quoted_output_is_that_of_the_kept_run():
    block = make_pictures.output_block(DEMO["summary"], load_scenario(make_pictures.SCENARIO))

    assert f"```console\n{block}\n```" in README, "run `make pictures`"


def test_the_picture_is_that_of_the_kept_run():
    assert make_pictures.PICTURE.read_text(encoding="utf-8") == make_pictures.picture(DEMO["curves"])


def test_every_link_and_picture_is_there():
    linked = re.findall(r"\]\((?!https?://)([^)#]+)\)", README)

    assert [path for path in linked if not (ROOT / path).exists()] == []


def test_every_built_in_scenario_is_named():
    assert [name for name in builtin_names() if f"`{name}`" not in README] == []


@pytest.mark.slow
def test_the_kept_run_is_what_comes_out_today():
    summary = make_pictures.demo()

    for part in ("rows", "comparison"):
        assert summary[part] == DEMO["summary"][part], "if the change is meant: `make pictures`"
