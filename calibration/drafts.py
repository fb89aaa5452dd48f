"""What the engine drafts with, under one name in its flags, in a profile and in the acceptance that is measured of it.

K is the draft tokens that each draft proposes; *nodes* are all that a step verifies of a sequence: K, those of a tree,
or K of each draft of a union. Needs nothing of the planner.
"""

import re
from argparse import Namespace
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from engine.commands.drafting import UNION, shape_of
from engine.trees import Shape

CATALOG_NAMES = {"smollm2": "smollm2-135m"}
"""The engine's name of a model → the planner's, where they differ."""

SHAPES = ("tree", "nodes", "dynamic_tree")
COMPUTING = ("model", "noisy_target")
"""Drafts that have a model: profiles name them by it."""


@dataclass(frozen=True, slots=True)
class Drafts:
    """One draft or several; each field is the engine's flag of this name."""

    draft: str = "lookup"
    draft_model: str | None = None
    epsilon: float | None = None
    of: tuple[str, ...] = ()
    ngram: tuple[str, ...] = ()
    router: str | None = None
    tree: str | None = None
    nodes: str | None = None
    dynamic_tree: str | None = None
    head: str | None = None
    resident_experts: int | None = None
    active_experts: int | None = None
    draft_process: str | None = None

    def words(self) -> list[str]:
        """The engine's flags.

        >>> Drafts("union", of=("lookup", "ngram"), ngram=("code",)).words()
        ['--draft', 'union', '--of', 'lookup', '--of', 'ngram', '--ngram', 'code']
        """
        said = []
        for field in fields(self):
            value = getattr(self, field.name)
            several = value if isinstance(value, tuple) else (value,)
            said += [word for one in several if one is not None for word in (_flag(field.name), str(one))]
        return said

    def given(self) -> dict[str, Any]:
        """Fields that say anything, by name; `draft` and `draft_model` always."""
        said = {field.name: getattr(self, field.name) for field in fields(self)}
        always = ("draft", "draft_model")
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in said.items()
            if name in always or value not in (None, ())
        }

    @property
    def parts(self) -> dict[str, "Drafts"]:
        """By name: each draft on its own, one for each table; only itself where there is but one."""
        if not self.several:
            return {self.label: self}
        found = {}
        for method in self.of if self.draft == UNION else (self.draft,):
            for tables in [(table,) for table in self.ngram] if method == "ngram" else [()]:
                alone = replace(self, draft=method, of=(), ngram=tables, router=None)
                found[alone.label] = alone
        return found

    @property
    def several(self) -> bool:
        """Whether it is a union, or drafts of which a router picks one."""
        return self.draft == UNION or self.router is not None

    @property
    def label(self) -> str:
        """Its name.

        >>> Drafts("union", of=("lookup", "ngram"), ngram=("code", "runs/own.json")).label
        'union-lookup-ngram-code-ngram-own'
        >>> Drafts("ngram", ngram=("code", "prose"), router="likelihood").label
        'likelihood-ngram-code-ngram-prose'
        >>> Drafts("noisy_target", tree="2,1").label, Drafts("noisy_target", draft_process="ids").label
        ('noisy-target-tree-2-1', 'noisy-target-ahead')
        """
        if self.several:
            return "-".join([self.router or UNION, *self.parts])
        said = [self.draft, *(Path(table).stem for table in self.ngram), *self._shape_words()]
        said += ["ahead"] if self.draft_process else []
        return "-".join(re.sub(r"[^A-Za-z0-9.]+", "-", word) for word in said)

    def _shape_words(self) -> list[str]:
        given = {name: getattr(self, name) for name in SHAPES if getattr(self, name) is not None}
        return [word for name, text in given.items() for word in (name, text)]

    def surface(self, target: str) -> str:
        """Its name in a profile and in `measured` of a scenario: that of its model where it is a chain of one.

        target: the engine's name of the target.
        """
        if self.draft not in COMPUTING or self.several:
            return self.label
        own = catalog_name(target if self.draft == "noisy_target" else str(self.draft_model))
        return own + self.label.removeprefix(self.draft.replace("_", "-"))

    def shape(self) -> Shape | None:
        """Its tree; None: chains. An EngineError where it is none."""
        return shape_of(Namespace(draft=self.draft, policy="fixed", **{name: getattr(self, name) for name in SHAPES}))

    def all_nodes(self, k: int) -> int:
        """Nodes that a step verifies, with K draft tokens of each draft."""
        shape = self.shape()
        return shape.nodes if shape is not None else k * (len(self.parts) if self.draft == UNION else 1)

    def depth(self, k: int) -> int:
        """Most draft tokens that a step accepts."""
        shape = self.shape()
        return shape.depth if shape is not None else k


def drafts_of(flags: Namespace) -> Drafts:
    """What the engine's flags say; a flag that a command lacks says nothing."""
    said: dict[str, Any] = {}
    for field in fields(Drafts):
        value = getattr(flags, field.name, field.default)
        said[field.name] = tuple(value) if isinstance(value, list) else value
    return Drafts(**said)


def catalog_name(model: str) -> str:
    """The planner's name of a model of the engine: that of the catalog, or of its file or folder.

    >>> catalog_name("smollm2"), catalog_name("random:llama-3.2-1b"), catalog_name("/models/My Model.gguf")
    ('smollm2-135m', 'llama-3.2-1b', 'My-Model')
    """
    last = Path(model.removeprefix("random:")).name
    plain = re.sub(r"\.(yaml|yml|gguf)$", "", last)
    return CATALOG_NAMES.get(model) or re.sub(r"[^A-Za-z0-9._-]+", "-", plain).lstrip("._-") or "model"


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
