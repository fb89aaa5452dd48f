"""The image: pinned, slim, without root, torch or secrets; what it copies and calls is there."""

import fnmatch
import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest
import typer.main

from app.commands.dashboard import PORT
from app.main import build_app

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "Dockerfile").read_text(encoding="utf-8")
LINES = [
    line.partition(" ")[::2]
    for line in TEXT.replace("\\\n", " ").splitlines()
    if line.strip() and not line.startswith("#")
]
"""Instruction and its arguments."""
LAST_STAGE = LINES[max(i for i, (name, _) in enumerate(LINES) if name == "FROM") :]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]


def arguments(instruction, lines=LINES):
    return [text.strip() for name, text in lines if name == instruction]


def copied():
    """What the image takes from the repository."""
    return [path for text in arguments("COPY") if "--from" not in text for path in shlex.split(text)[:-1]]


def installed():
    """Words of the commands by which the image installs packages."""
    return [words for words in map(shlex.split, arguments("RUN")) if "pip" in words]


def test_every_stage_stands_on_one_pinned_slim_base():
    bases = {text.split()[0] for text in arguments("FROM")}

    assert len(bases) == 1
    assert re.fullmatch(r"python:3\.\d+\.\d+-slim-[a-z]+", bases.pop())


def test_it_serves_without_root():
    users = arguments("USER", LAST_STAGE)

    assert int(users[-1]) >= 1000
    assert f"--uid {users[-1]}" in arguments("RUN", LAST_STAGE)[0]


def test_it_holds_no_torch_and_no_secret():
    assert "engine" not in TEXT.partition("pip install")[2].partition("\n")[0]
    assert not re.search(r"torch|latest|token|password|secret|curl|wget|apt-get", TEXT, re.IGNORECASE)


def test_what_it_copies_is_there_and_reaches_the_builder():
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    allowed = [line.removeprefix("!") for line in ignored if line.startswith("!")]

    assert [path for path in copied() if not (ROOT / path).exists()] == []
    assert "*" in ignored
    assert sorted(allowed) == sorted(copied())


def test_it_copies_every_package_of_the_wheel():
    built = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]
    packages = built["targets"]["wheel"]["packages"]

    assert set(packages) <= set(copied())


def test_it_installs_pinned_versions_of_an_extra_that_exists():
    words = installed()[0]
    extras = [found[1] for word in words if (found := re.fullmatch(r"\.\[(\w+)\]", word))]

    assert len(installed()) == 1
    assert words[words.index("-c") + 1] in copied()
    assert extras == ["app"]
    assert "app" in EXTRAS
    assert not any("torch" in requirement for requirement in EXTRAS["app"])


def test_it_starts_a_command_with_options_that_exist():
    program, name, *rest = json.loads(arguments("CMD")[-1])
    command = typer.main.get_command(build_app()).commands[name]
    known = {option for parameter in command.params for option in parameter.opts}

    assert program == "specfleet"
    assert {word for word in rest if word.startswith("--")} <= known
    assert rest[rest.index("--port") + 1] == arguments("EXPOSE")[0] == str(PORT)


def test_its_health_is_asked_of_the_server_by_python_that_compiles():
    check = arguments("HEALTHCHECK")[0]
    program, flag, code = json.loads(check.partition("CMD ")[2])

    assert (program, flag) == ("python", "-c")
    assert f"http://127.0.0.1:{PORT}/_stcore/health" in code
    compile(code, "healthcheck", "exec")


@pytest.mark.parametrize("unwanted", [".git", ".venv", "runs", "tests", "docs", ".env"])
def test_what_the_image_does_not_need_stays_outside(unwanted):
    allowed = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]

    assert not any(fnmatch.fnmatch(unwanted, pattern) for pattern in allowed)
