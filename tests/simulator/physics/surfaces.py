"""A step surface drawn from a known law, and a deployment that it prices."""

from simulator.spec.deployment import Deployment
from simulator.spec.profile import Profile

GPU, ENGINE, MODEL = "h200-sxm", "specfleet", "smollm2-135m"
ROWS, SEQUENCES, TOKENS = (1, 2, 4, 8, 16, 64, 512), (1, 2, 4, 16), (1, 2, 5, 9)
SOURCE = {"kind": "measured", "ref": "a law made for a test", "date": "2026-11-30"}


def rows_table(constant, slope):
    return {"rows": list(ROWS), "us": [constant + slope * rows for rows in ROWS]}


def grid(per_sequence, per_query, per_token, tokens=TOKENS):
    floor = [[s * (per_sequence + per_query * t) for t in tokens] for s in SEQUENCES]
    slopes = [[per_token * (1 + 0.1 * t) for t in tokens] for _ in SEQUENCES]
    return {"sequences": list(SEQUENCES), "tokens": list(tokens), "floor_us": floor, "per_token_us": slopes,
            "max_context": 1000}  # fmt: skip


def surface(**changes):
    return {
        "model": MODEL, "weights": "fp32", "kv": "fp32",
        "layers": rows_table(20_000.0, 2_000.0), "head": rows_table(5_000.0, 500.0),
        "decode": grid(1_000.0, 50.0, 2.0),
        "prompts": {"base": rows_table(900.0, 10.0), "per_million_pairs_us": 40_000.0, "max_prompt": 512},
        "sampling": rows_table(80.0, 30.0),
        "host": {"step_us": 300.0, "sequence_us": 40.0, "row_us": 2.0},
        "drafts": [{"draft": "lookup", "passes": grid(20.0, 3.0, 0.05, (1, 3, 5, 8))}],
        "samples": 60,
    } | changes  # fmt: skip


def profile(**changes):
    return Profile.model_validate(
        {
            "name": f"{GPU}-{ENGINE}", "gpu": GPU, "engine": ENGINE, "date": "2026-11-30", "versions": {"torch": "2.13"},
            "samples": {"steps": 60}, "fit_error": {"steps": {"count": 60, "median_ape": 0.01, "mean_ape": 0.01}},
            "steps": [surface(**changes)], "source": "steps", "sources": {"steps": SOURCE},
        }
    )  # fmt: skip


def deployment(speculation=None, **target):
    served = {"model": MODEL, "weights": "fp32", "kv": "fp32"} | target
    price = {"usd_per_gpu_hour": 0.1, "basis": "assumption", "source": "a test", "as_of": "2026-11-30"}
    return Deployment.model_validate(
        {
            "gpu": GPU, "replicas": 1, "price": price, "target": served, "engine": {"policy": ENGINE},
            "speculation": speculation or {"kind": "none"},
        }
    )  # fmt: skip


def lookup(draft_tokens=4, **draft):
    how = draft or {"measured": "lookup"}
    acceptance = {"all": {"survival": [0.5] * draft_tokens}}
    return {
        "kind": "drafts", "drafts": {"it": how | {"acceptance": acceptance}}, "propose": {"draft_tokens": draft_tokens}
    }  # fmt: skip
