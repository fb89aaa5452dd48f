"""The errors that a user can cause; each message names the place, the value and the way out.

SimulatorError
├── ScenarioError    a scenario file, a --set or a trace is wrong
├── CatalogError     a name that the catalog does not hold, or a broken catalog file
└── ProfileError     a measured profile that does not fit
"""


class SimulatorError(Exception):
    """Base of all errors that bad input causes."""


class ScenarioError(SimulatorError):
    """A scenario, or a file that it names, is wrong."""


class CatalogError(SimulatorError):
    """The catalog does not hold what was asked for."""


class ProfileError(SimulatorError):
    """A measured profile is missing or does not fit."""
