"""The search of a plan: bounds leave out what cannot win, estimates rank the rest, simulations confirm the best."""

from simulator.planning.search.answer import PlanResult, plan_json
from simulator.planning.search.planner import plan

__all__ = ["PlanResult", "plan", "plan_json"]
