"""The entries of a config.json, each checked where it is read; knows nothing of what they mean."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from simulator.errors import ScenarioError

MAX_BYTES = 4_000_000
LARGEST = 10**9


def read_json(path: Path) -> dict[str, Any]:
    """The mapping that a JSON file holds; ScenarioError where it holds none."""
    try:
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        raise ScenarioError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if len(data) > MAX_BYTES:
        raise ScenarioError(f"{path}: larger than {MAX_BYTES // 10**6} MB: not a config.json")
    try:
        found = json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise ScenarioError(f"{path}: not a text in UTF-8") from None
    except json.JSONDecodeError as error:
        raise ScenarioError(f"{path}:{error.lineno}: not JSON: {error.msg}") from None
    except RecursionError:
        raise ScenarioError(f"{path}: nested too deeply: not a config.json") from None
    if not isinstance(found, dict):
        raise ScenarioError(f"{path}: a JSON object is needed, as the hub's config.json is")
    return found


class Keys:
    """A mapping of a config.json, read key by key; null counts as absent, for transformers writes it so."""

    def __init__(self, entries: Mapping[str, Any], where: str, defaults: Mapping[str, Any] | None = None) -> None:
        self.entries = entries
        self.where = where
        """File, and the key above where the mapping is nested: the beginning of every message."""
        self.defaults = defaults or {}
        """What transformers takes where a published file leaves a key out."""

    def get(self, name: str) -> Any:
        """The value as it stands, else the default; None without both."""
        value = self.entries.get(name)
        return self.defaults.get(name) if value is None else value

    def wrong(self, name: str, message: str) -> ScenarioError:
        """The error of a key: its place, its value and what is needed."""
        shown = json.dumps(self.get(name), default=str)
        return ScenarioError(f"{self.where}: {name}: {shown if len(shown) <= 80 else shown[:77] + '...'}: {message}")

    def optional(self, *names: str) -> int | None:
        """The whole number under the first of these names that is there; None where there is none."""
        for name in names:
            if self.get(name) is not None:
                return self._count(name)
        return None

    def count(self, *names: str) -> int:
        """The same, where there must be one."""
        found = self.optional(*names)
        if found is None:
            raise ScenarioError(f"{self.where}: no {' or '.join(names)}: a whole number is needed")
        return found

    def _count(self, name: str) -> int:
        value = self.get(name)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LARGEST:
            raise self.wrong(name, f"a whole number from 0 to {LARGEST:,} is needed")
        return value

    def positive(self, *names: str) -> int:
        """A whole number from 1 on, under the first of these names that is there."""
        value = self.count(*names)
        if value == 0:
            raise self.wrong(next(name for name in names if self.get(name) is not None), "a number above 0 is needed")
        return value

    def flag(self, name: str) -> bool:
        """True or false; false where it is absent."""
        value = self.get(name)
        if value is not None and not isinstance(value, bool):
            raise self.wrong(name, "true or false is needed")
        return bool(value)

    def text(self, name: str) -> str:
        """A text; empty where it is absent."""
        value = self.get(name)
        if value is not None and not isinstance(value, str):
            raise self.wrong(name, "a text is needed")
        return value or ""

    def texts(self, name: str) -> Sequence[str]:
        """A list of texts; empty where it is absent."""
        value = self.get(name)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.wrong(name, "a list of texts is needed")
        return value

    def below(self, name: str) -> "Keys | None":
        """A mapping inside this one; None where it is absent."""
        value = self.get(name)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise self.wrong(name, "a mapping is needed")
        return Keys(value, f"{self.where}: {name}")
