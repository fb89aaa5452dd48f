"""A scenario in a link: `?s=1.<zlib, base64url>`, small, versioned, and read with as little trust as a file.

The whole scenario is in it, so that an old link means the same when a default changes. Knows nothing of pages.
"""

import base64
import binascii
import json
import zlib
from collections.abc import Mapping
from typing import Any

from simulator.errors import ScenarioError

VERSION = "1"
PARAMETER = "s"
MOST_CHARACTERS = 8_000
"""Longest payload: what servers and proxies take as part of an address."""
MOST_BYTES = 200_000
"""Largest scenario that a payload may unpack to."""

_BY_NUMBER = ("histogram", "drafted", "by_temperature", "by_context")
"""Mappings whose keys are numbers in a file; JSON has texts for keys."""

_OLD_OR_NEW = "it was made by another version of specfleet; ask for the scenario as a file"


def encode(mapping: Mapping[str, Any]) -> str:
    """A scenario as the payload of a link; ScenarioError when it is too large for one."""
    text = json.dumps(mapping, ensure_ascii=False, separators=(",", ":"), default=str)
    packed = base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")
    payload = f"{VERSION}.{packed}"
    if len(payload) > MOST_CHARACTERS or len(text.encode()) > MOST_BYTES:
        raise ScenarioError(
            f"this scenario is too large for a link ({len(payload):,} characters; at most {MOST_CHARACTERS:,}): "
            "share it as a file from the page Scenario"
        )
    return payload


def decode(payload: str) -> dict[str, Any]:
    """The mapping in the payload of a link, unchecked as a scenario; ScenarioError for what is none."""
    if len(payload) > MOST_CHARACTERS:
        raise ScenarioError(f"link: {len(payload):,} characters; a link has at most {MOST_CHARACTERS:,}")
    version, dot, packed = payload.partition(".")
    if not dot or version != VERSION:
        raise ScenarioError(f"link: version {version[:12]!r}, this specfleet reads {VERSION!r}: {_OLD_OR_NEW}")
    try:
        found = json.loads(_unpacked(packed))
    except (ValueError, RecursionError):
        raise ScenarioError("link: not whole; copy it again, to its last character") from None
    if not isinstance(found, dict):
        raise ScenarioError("link: it holds no scenario")
    return {key: _with_numbers(value) for key, value in found.items()}


def _with_numbers(value: Any, *, keys: bool = False) -> Any:
    """The value with numbers for keys again where a file has them; keys: whether this mapping is one of those."""
    if isinstance(value, list):
        return [_with_numbers(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    return {_number(key) if keys else key: _with_numbers(inner, keys=key in _BY_NUMBER) for key, inner in value.items()}


def _number(text: str) -> int | str:
    """A whole number that stands as a text; any other text as it is, for a file has it in quotes.

    >>> _number("4000"), _number("0.5"), _number("all")
    (4000, '0.5', 'all')
    """
    try:
        return int(text)
    except ValueError:
        return text


def _unpacked(packed: str) -> str:
    try:
        data = base64.b64decode(packed + "=" * (-len(packed) % 4), altchars=b"-_", validate=True)
        unpacker = zlib.decompressobj()
        raw = unpacker.decompress(data, MOST_BYTES + 1)
    except (binascii.Error, zlib.error) as error:
        raise ValueError from error
    if len(raw) > MOST_BYTES:
        raise ScenarioError(f"link: it unpacks to more than {MOST_BYTES:,} bytes, which no scenario in a link has")
    if not unpacker.eof:
        raise ValueError("cut off")
    return raw.decode()
