"""Plan files to ask and to break."""

import yaml

from scenarios.plan_file import LoadedPlan, load_plan
from tests.scenarios.examples import CHAT

PLAN = """\
plan:
  vary:
    gpu: [h200-sxm, b200-sxm]
    target.tensor_parallel: [1, 2]
    speculation.propose.draft_tokens: [1, 2, 3]
  headroom: 0.1
"""


def plan_of(text: str, *sets: str) -> LoadedPlan:
    """Load a text as if it stood in chat.yaml."""
    return load_plan("chat.yaml", sets, text=text)


def varied(**lists: object) -> str:
    """CHAT with choices, `__` for a dot."""
    vary = {path.replace("__", "."): of for path, of in lists.items()}
    return CHAT + yaml.safe_dump({"plan": {"vary": vary}}, sort_keys=False)
