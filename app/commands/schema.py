"""`specfleet schema`: the JSON schema of a scenario file."""

from app.options import Debug, Json


def schema(as_json: Json = False, debug: Debug = False) -> None:
    """Print the JSON schema of a scenario file.

    For completion and checks in an editor; it is JSON with or without --json.

    \b
    Example:
      specfleet schema > scenario.schema.json
    """
    from app.console import print_json
    from scenarios.schema import scenario_json_schema

    print_json(scenario_json_schema())
