"""Commands as a shell takes them."""

import subprocess

import pytest

from app.export.command import EngineCommand, read, shell, shell_word

WORDS = ["--plain", '{"model": "$DRAFT", "n": 3}', "$MODEL", "a b", "it's", "http://h:$PORT/x", "$HOME", ""]


@pytest.mark.parametrize("word", WORDS)
def test_a_shell_gets_every_word_whole_and_replaces_our_variables_only(word):
    script = f"MODEL='m o' DRAFT='d\"q' PORT=1; printf '%s' {shell_word(word)}"

    found = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout

    assert found == word.replace("$MODEL", "m o").replace("$DRAFT", 'd"q').replace("$PORT", "1")


def test_lines_go_on_to_the_last():
    text = shell(["run", "--a", "1", "--b"])

    assert text == "run \\\n  --a 1 \\\n  --b"


def test_what_is_read_has_the_names_that_are_known_and_the_environment():
    command = EngineCommand(("serve", "$MODEL", "--draft", "$DRAFT"), {"X": "a b"})

    assert read(command, {"$MODEL": "a/b", "$DRAFT": None}) == "X='a b' serve a/b \\\n  --draft \"$DRAFT\""
