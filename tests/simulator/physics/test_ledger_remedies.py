import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from simulator.catalog.load import names
from simulator.physics.ledger import fits, memory_ledger
from simulator.physics.remedies import ways_to_fit
from simulator.spec.deployment import Deployment
from tests.simulator.physics.toys import ROUTED, UNION, deployment, ledger

gpus = st.sampled_from(["h100-sxm", "h200-sxm", "b200-sxm"])
models = st.sampled_from(names("models"))
splits = st.sampled_from([1, 2, 4, 8])
weights = st.sampled_from(["bf16", "fp8", "nvfp4"])


@given(models, weights, gpus, splits, st.integers(1000, 40_000))
def test_what_does_not_fit_lacks_bytes_and_the_ways_out_are_true(model, dtype, gpu, split, length):
    chosen = deployment(model=model, weights=dtype, gpu=gpu, tensor_parallel=split, engine={"max_model_len": length})
    row = memory_ledger("it", chosen)[0]
    assume(not row.fits)

    assert row.shortfall_bytes > 0
    for way in row.reason.split("what would fit: ")[1].split("; "):
        assert way.startswith("no single change") or fits(changed(chosen, way))


def changed(chosen, way):
    path, value = way.rsplit(" ", 1)
    data = chosen.model_dump()
    *parents, leaf = path.split(".")
    node = data
    for key in parents:
        node = node[key]
    node[leaf] = int(value) if value.isdigit() else value
    return Deployment.model_validate(data)


def test_the_ways_out_are_listed_in_order():
    row = ledger(model="qwen3-32b", weights="bf16", gpu="h100-sxm", engine={"max_model_len": 32_000})

    ways = row.reason.split("what would fit: ")[1]

    shorter = f"engine.max_model_len {row.kv_tokens}"
    assert ways == f"target.tensor_parallel 2; target.kv fp8; {shorter}; target.weights fp8; gpu h200-sxm"


def test_a_smaller_draft_or_none_is_a_way_out():
    twin = {"model": "llama-3.1-8b"}

    row = ledger(model="llama-3.1-8b", weights="bf16", draft=twin, engine={"hbm_budget_gb": 70})

    assert "speculation.drafts.small.kv fp8" in row.reason
    assert "; no draft" in row.reason


def test_a_larger_gpu_is_no_way_out_of_a_cpu():
    row = ledger(model="llama-3.3-70b", weights="bf16", gpu="cpu-1thread", policy="specfleet")

    assert not row.fits
    assert "gpu " not in row.reason.split("what would fit: ")[1]


def test_nothing_helps_a_budget_that_is_too_small():
    row = ledger(engine={"hbm_budget_gb": 1})

    assert row.reason.endswith("what would fit: no single change of split, KV, length, weights or draft")


MTP = {"head": {"method": "mtp", "dense": False, "layers": 2, "modules": 3}}
COPY = {"moe_subset": {"resident_experts": 16, "active_experts": 2, "shares_weights": False}}
MODELS = {name: {"model": "llama-3.2-3b"} for name in ("a", "b", "c")}


@pytest.mark.parametrize(
    ("draft", "path", "value"),
    [
        (MTP, "head.dense", True),
        (MTP, "head.modules", 1),
        (MTP, "head.layers", 1),
        (COPY, "moe_subset.shares_weights", True),
        (COPY, "moe_subset.shares_kv", True),
    ],
)
def test_a_head_is_made_narrower_and_a_copy_is_shared(draft, path, value):
    way, key = path.split(".")
    chosen = deployment(model="qwen3-30b-a3b", weights="bf16", draft=draft)

    ways = ways_to_fit(chosen, 0, lambda d: d.speculation.kind != "none" and part(d, way, key) == value)

    assert ways == (f"speculation.drafts.small.{path} {str(value).lower()}",)


def part(chosen, way, key):
    return getattr(getattr(chosen.speculation.draft, way), key)


@pytest.mark.parametrize(("combine", "gone"), [(ROUTED, "a"), (UNION, "a")])
def test_one_draft_less_is_a_way_out_and_what_was_routed_to_it_goes_to_the_fallback(combine, gone):
    chosen = deployment(drafts=MODELS, speculation={"combine": combine})
    tried = []

    ways = ways_to_fit(chosen, 0, lambda d: len(d.speculation.drafts) == 2 and not tried.append(d))

    assert ways == (f"without draft {gone}",)
    assert Deployment.model_validate(tried[0].model_dump()).speculation.drafts.keys() == {"b", "c"}


def test_the_fallback_is_never_left_out():
    chosen = deployment(drafts={name: MODELS[name] for name in "ab"}, speculation={"combine": ROUTED})

    ways = ways_to_fit(chosen, 0, lambda d: "b" not in d.speculation.drafts)

    assert ways == ("no draft",)


def test_each_of_several_drafts_may_be_the_one_to_change():
    chosen = deployment(drafts={name: MODELS[name] for name in "ab"}, speculation={"combine": UNION})

    ways = ways_to_fit(chosen, 0, lambda d: getattr(d.speculation.drafts.get("b"), "kv", "") == "fp8")

    assert ways == ("speculation.drafts.b.kv fp8",)


@pytest.mark.parametrize(("key", "value"), [("kv", "fp8"), ("weights", "fp8"), ("tensor_parallel", 4)])
def test_a_draft_is_made_smaller_in_one_way_at_a_time(key, value):
    chosen = deployment(tensor_parallel=4, draft={"model": "llama-3.2-1b"})

    ways = ways_to_fit(
        chosen, 0, lambda d: d.speculation.kind == "drafts" and getattr(d.speculation.draft, key) == value
    )

    assert ways == (f"speculation.drafts.small.{key} {value}",)


def test_a_change_that_no_hardware_can_make_is_not_offered():
    chosen = deployment(model="qwen2.5-0.5b", weights="bf16")

    ways = ways_to_fit(chosen, 0, lambda d: d.target.tensor_parallel > 2)

    assert ways == ()
