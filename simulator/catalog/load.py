"""The loader of the catalog: one YAML file per thing (measured profiles: JSON), checked once, kept in memory.

Names are looked up in the package, then in the user's own catalog (`simulator.catalog.own`).
"""

import difflib
import json
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import ValidationError

from simulator.catalog.broken import why
from simulator.catalog.own import looked_in, own_folder
from simulator.errors import CatalogError, ScenarioError
from simulator.spec.base import Spec
from simulator.spec.hardware import Gpu, Links
from simulator.spec.model import Model
from simulator.spec.policy import AcceptancePreset, EnginePolicy, LengthTable, PriceList, Quantisation
from simulator.spec.profile import Profile

NOUNS = {
    "gpus": "GPU",
    "links": "link file",
    "models": "model",
    "engines": "engine policy",
    "quantisation": "weight format",
    "prices": "price list",
    "acceptance": "acceptance preset",
    "lengths": "length table",
    "profiles": "measured profile",
}
"""Folder of the catalog → what one of its files is."""

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_S = TypeVar("_S", bound=Spec)
Stamp = tuple[str, int, int]
"""A file's path, when it changed [ns], and how long it is [bytes]."""


@cache
def load_gpu(name: str) -> Gpu:
    """The GPU of this name."""
    return _load("gpus", name, Gpu)


@cache
def load_links(name: str) -> Links:
    """Collectives and point-to-point links, by the name that a GPU states in `links`."""
    return _load("links", name, Links)


def load_model(name: str) -> Model:
    """The model of this name, or the one that the config.json at this path describes."""
    return _of_config(*_stamp(name)) if is_config(name) else _of_catalog(name)


@cache
def _of_catalog(name: str) -> Model:
    return _load("models", name, Model)


@cache
def _of_config(path: str, changed_ns: int, size_bytes: int) -> Model:
    """The model of a config.json; when it changed and how long it is: a file that was edited is read anew."""
    from simulator.catalog.hub.config import read_config

    return read_config(Path(path))


def stamps(models: Iterable[str]) -> tuple[Stamp, ...]:
    """Of the models that a config.json describes: what is kept by a model's name has to be kept by these, too."""
    return tuple(_stamp(name) for name in models if is_config(name))


def _stamp(path: str) -> Stamp:
    try:
        found = Path(path).stat()
    except (OSError, ValueError) as error:
        told = getattr(error, "strerror", None) or error
        raise ScenarioError(f"{path}: cannot be read: {told}") from None
    return path, found.st_mtime_ns, found.st_size


def is_config(name: str) -> bool:
    """Whether a model is named by the path of a config.json.

    >>> is_config("llama-3.1-8b"), is_config("./config.json")
    (False, True)
    """
    return name.endswith(".json")


def model_title(name: str) -> str:
    """A model's name as people are shown it: that of the catalog, or, for a path, the one that its file gives it."""
    return load_model(name).name if is_config(name) else name


@cache
def load_engine(name: str) -> EnginePolicy:
    """The engine policy of this name."""
    return _load("engines", name, EnginePolicy)


@cache
def load_quantisation(name: str) -> Quantisation:
    """The weight format of this name."""
    return _load("quantisation", name, Quantisation)


@cache
def load_price_list(name: str) -> PriceList:
    """The price list of this name."""
    return _load("prices", name, PriceList)


@cache
def load_acceptance(name: str) -> AcceptancePreset:
    """The measured acceptance curve of this name."""
    return _load("acceptance", name, AcceptancePreset)


@cache
def load_lengths(name: str) -> LengthTable:
    """The joint table of prompt and output lengths of this name."""
    return _load("lengths", name, LengthTable)


@cache
def load_profile(gpu: str, engine: str) -> Profile | None:
    """The measured profile of a GPU and an engine policy; None where there is none."""
    name = f"{gpu}-{engine}"
    if name not in _names("profiles"):
        return None
    try:
        profile = Profile.model_validate_json(_file("profiles", name).read_bytes())
    except (OSError, ValidationError) as error:
        raise _broken("profiles", name, why(error)) from None
    _check_name("profiles", name, profile.name)
    return profile


def names(kind: str) -> list[str]:
    """Names that a folder of the catalog holds, sorted.

    >>> names("engines")
    ['sglang', 'specfleet', 'trtllm', 'vllm']
    """
    return list(_names(kind))


def raw(kind: str, name: str) -> dict[str, Any]:
    """A file of the catalog as it stands: a mapping, whatever is in it."""
    file = _file(kind, name)
    try:
        text = file.read_bytes()
        found = json.loads(text) if kind == "profiles" else yaml.load(text, Loader=_Loader)
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise _broken(kind, name, why(error)) from None
    if not isinstance(found, dict):
        raise _broken(kind, name, "a mapping of keys is needed")
    return found


def _broken(kind: str, name: str, why_not: str) -> CatalogError:
    return CatalogError(f"catalog file {_shown(kind, name)} is broken: {why_not}")


def _check_name(kind: str, name: str, stated: str) -> None:
    """An entry is called as its file is: two names for one thing would be found by one of them only."""
    if stated != name:
        raise _broken(kind, name, f"name: {stated!r}: the file is called {name}{_suffix(kind)}")


def _folder(kind: str) -> Traversable:
    if kind not in NOUNS:
        raise CatalogError(f"no folder {kind!r} in the catalog; {_ways(kind, tuple(NOUNS))}")
    return files("simulator.catalog") / kind


@cache
def _names(kind: str) -> tuple[str, ...]:
    return tuple(sorted([*_packaged(kind), *_own(kind)]))


@cache
def _packaged(kind: str) -> frozenset[str]:
    return frozenset(_stems(_folder(kind), _suffix(kind)))


@cache
def _own(kind: str) -> dict[str, Path]:
    """Entries of the user's own catalog; a name that the package has is an error: two answers to one question."""
    folder = own_folder()
    if folder is None or not (folder / kind).is_dir():
        return {}
    found = {name: folder / kind / f"{name}{_suffix(kind)}" for name in _stems(folder / kind, _suffix(kind))}
    for name in sorted(found.keys() & _packaged(kind)):
        raise CatalogError(
            f"{found[name]}: the package has a {NOUNS[kind]} {name!r} of its own; give yours another name"
        )
    return found


def origin(kind: str, name: str) -> str:
    """Where an entry comes from: `package`, or the file of the user's own catalog."""
    return str(_own(kind).get(name, "package"))


def forget() -> None:
    """Read the catalog anew: for a process in which it has just been written to."""
    for kept in (load_gpu, load_links, _of_catalog, _of_config, load_engine, load_quantisation, load_price_list,
                 load_acceptance, load_lengths, load_profile, _names, _packaged, _own):  # fmt: skip
        kept.cache_clear()


def _suffix(kind: str) -> str:
    return ".json" if kind == "profiles" else ".yaml"


def _stems(folder: Traversable | Path, suffix: str) -> Iterator[str]:
    return (f.name.removesuffix(suffix) for f in folder.iterdir() if f.name.endswith(suffix))


def _file(kind: str, name: str) -> Traversable | Path:
    known = _names(kind)
    if name not in known:
        raise CatalogError(f"no {NOUNS[kind]} {name!r} in the catalog; {_ways(name, known)}; {looked_in()}")
    if name in _own(kind):
        return _own(kind)[name]
    return _folder(kind) / f"{name}{_suffix(kind)}"


def _ways(name: str, known: tuple[str, ...]) -> str:
    nearest = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.4)
    return "".join(f"nearest: {n}; " for n in nearest) + f"known: {', '.join(known)}"


def _shown(kind: str, name: str) -> str:
    return str(_own(kind).get(name, f"{kind}/{name}{_suffix(kind)}"))


def _load(kind: str, name: str, spec: type[_S]) -> _S:
    document = raw(kind, name)
    try:
        loaded = spec.model_validate(document)
    except ValidationError as error:
        raise _broken(kind, name, why(error)) from None
    _check_name(kind, name, document["name"])
    return loaded
