"""Lists that are longer than memory: gone through item by item, as often as need be, and written as JSON that way."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any


class Each(Iterable[Any]):
    """A list whose items are made anew each time that it is gone through."""

    def __init__(self, make: Callable[[], Iterable[Any]]) -> None:
        self._make = make

    def __iter__(self) -> Iterator[Any]:
        return iter(self._make())


class Counted(Each):
    """The same, of which it is known how many items it has."""

    def __init__(self, make: Callable[[], Iterable[Any]], length: int) -> None:
        super().__init__(make)
        self._length = length

    def __len__(self) -> int:
        return self._length


def json_parts(value: Any, dump: Callable[[Any], str] | None = None, indent: str = "") -> Iterator[str]:
    """The JSON of a value, indented by two spaces, in parts of which none holds a whole `Each`.

    dump: makes the JSON of a value without an `Each`, indented by two spaces.

    >>> print("".join(json_parts({"a": Each(lambda: range(2)), "b": {"c": [3]}})).replace(chr(10), ""))
    {  "a": [    0,    1  ],  "b": {    "c": [      3    ]  }}
    """
    if not streamed(value):
        yield (dump or indented)(value).replace("\n", f"\n{indent}")
    elif isinstance(value, Mapping):
        named = ((f"{json.dumps(str(name), ensure_ascii=False)}: ", inner) for name, inner in value.items())
        yield from _items("{}", named, dump, indent)
    else:
        yield from _items("[]", (("", inner) for inner in value), dump, indent)


def streamed(value: Any) -> bool:
    """Whether a value is an `Each` or holds one."""
    if isinstance(value, Mapping):
        return any(streamed(inner) for inner in value.values())
    return isinstance(value, Each) or (isinstance(value, list | tuple) and any(map(streamed, value)))


def _items(
    ends: str, items: Iterable[tuple[str, Any]], dump: Callable[[Any], str] | None, indent: str
) -> Iterator[str]:
    before, deeper = ends[0], f"{indent}  "
    for name, value in items:
        yield f"{before}\n{deeper}{name}"
        yield from json_parts(value, dump, deeper)
        before = ","
    yield ends if before == ends[0] else f"\n{indent}{ends[1]}"


def indented(value: Any) -> str:
    """JSON with two spaces; what JSON does not know is a text, and a number that is not finite is an error."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False, default=str)
