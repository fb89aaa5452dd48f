"""Checks the candidates of a plan: what is a mistake of the file, and what a choice makes impossible."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from scenarios.candidates import Candidate
from scenarios.catalog_names import misnamed, unpriced
from scenarios.possible import impossible_deployment
from scenarios.problems import ENOUGH, Problem
from scenarios.wording import problems_of
from scenarios.yaml_nodes import Node, plain
from simulator.spec.deployment import Deployment
from simulator.spec.scenario import Scenario
from simulator.spec.workload import Workload

_MOST_OF_AN_OFFER = 3
"""Reasons that are told of an offer of which nothing is possible."""


def with_deployments(seen: Node, deployments: Mapping[str | int, Node]) -> Node:
    """A file with other deployments."""
    assert isinstance(seen.value, dict)
    named = Node(dict(deployments), seen.file, seen.line)
    return Node({**seen.value, "deployments": named}, seen.file, seen.line)


@dataclass(slots=True)
class CandidateCheck:
    """Takes candidates one by one, beside what they have in common, and keeps what is wrong."""

    seen: Node
    """The file."""
    head: dict[str, Any]
    """The scenario's data without deployments."""
    workload: Workload
    mistakes: list[Problem] = field(default_factory=list)
    """Of the file: values that are none, names that nothing has, offers of which nothing is possible."""
    documents: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Possible candidate → its data."""
    refused: dict[str, list[Candidate]] = field(default_factory=dict)
    """Reason → candidates that are left out for it."""
    _told: dict[str, list[Problem]] = field(default_factory=dict)
    """Offer → why candidates of it are left out."""

    def all(self, found: Sequence[Candidate]) -> dict[str, Deployment]:
        """The possible candidates by name."""
        possible: dict[str, Deployment] = {}
        for candidate in found:
            deployment = self._one(candidate)
            if deployment is not None:
                possible[candidate.name] = deployment
            if len(self.mistakes) > ENOUGH:
                break
        kept = {candidate.offer for candidate in found if candidate.name in possible}
        for offer, told in self._told.items():
            if offer not in kept and not self.mistakes:
                self.mistakes += list(dict.fromkeys(told))[:_MOST_OF_AN_OFFER]
        return possible

    def _one(self, candidate: Candidate) -> Deployment | None:
        """The candidate as a deployment; None when it is left out or wrong, which is then noted."""
        file = with_deployments(self.seen, {candidate.offer: candidate.node})
        if wrong := list(misnamed(file)):
            self.mistakes += wrong
            return None
        document = plain(candidate.node)
        own = {"workload": self.workload, "deployments": {candidate.offer: document}}
        try:
            deployment = Scenario.model_validate(self.head | own).deployments[candidate.offer]
        except ValidationError as error:
            self._note(candidate, list(problems_of(error, file)), error)
            return None
        told = [*unpriced(file), *impossible_deployment(candidate.offer, deployment, self.workload, file)]
        if told:
            self._refuse(candidate, told)
            return None
        self.documents[candidate.name] = document
        return deployment

    def _note(self, candidate: Candidate, told: Sequence[Problem], error: ValidationError) -> None:
        """A value that is none is a mistake; values that do not go together are a choice that is left out."""
        if any(details["type"] != "value_error" for details in error.errors(include_url=False)):
            self.mistakes += told
        else:
            self._refuse(candidate, told)

    def _refuse(self, candidate: Candidate, told: Sequence[Problem]) -> None:
        self.refused.setdefault(told[0].message, []).append(candidate)
        self._told.setdefault(candidate.offer, []).extend(told)
