"""A command that starts an engine, as words in which variables stand, and as a shell or a person reads it."""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from app.export.served import DRAFT, MODEL, PORT

_VARIABLE = re.compile("|".join(re.escape(name) for name in (MODEL, DRAFT, PORT)))


@dataclass(frozen=True, slots=True)
class EngineCommand:
    """How an engine is started."""

    words: tuple[str, ...]
    """Variables of `served` may stand in them."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Set for the engine only."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Configurations that the words name → their text, in which variables may stand."""

    @property
    def names_draft(self) -> bool:
        """Whether it loads a checkpoint of the draft."""
        return any(DRAFT in text for text in (*self.words, *self.files.values()))


def lines(words: Sequence[str]) -> list[list[str]]:
    """Words by the line on which they are written: each option with its values on a line of its own.

    >>> lines(["vllm", "serve", "m", "--port", "1", "--x"])
    [['vllm', 'serve', 'm'], ['--port', '1'], ['--x']]
    """
    found: list[list[str]] = [[]]
    for word in words:
        if word.startswith("--"):
            found.append([])
        found[-1].append(word)
    return found


def shell_word(word: str) -> str:
    r"""A word as a shell takes it whole; variables in it are replaced by the shell.

    >>> print(shell_word('{"model": "$DRAFT"}'), shell_word("$PORT"), shell_word("--tp"))
    '{"model": "'"$DRAFT"'"}' "$PORT" --tp
    """
    parts, last = [], 0
    for match in _VARIABLE.finditer(word):
        parts += [shlex.quote(word[last : match.start()])] if match.start() > last else []
        parts.append(f'"{match.group()}"')
        last = match.end()
    if last < len(word) or not parts:
        parts.append(shlex.quote(word[last:]))
    return "".join(parts)


def shell(words: Sequence[str], indent: str = "") -> str:
    """A command over several lines, for a shell."""
    told = [" ".join(map(shell_word, line)) for line in lines(words)]
    return f" \\\n{indent}  ".join(told)


def filled(text: str, values: Mapping[str, str | None]) -> str:
    """A text with the variables that are known replaced.

    >>> filled("serve $MODEL --port $PORT", {"$MODEL": "a/b", "$PORT": None})
    'serve a/b --port $PORT'
    """
    return _VARIABLE.sub(lambda match: values.get(match.group()) or match.group(), text)


def read(command: EngineCommand, values: Mapping[str, str | None]) -> str:
    """The command as a person copies it: with the names that are known."""
    words = [filled(word, values) for word in command.words]
    setting = "".join(f"{name}={shlex.quote(value)} " for name, value in command.environment.items())
    return setting + shell(words)
