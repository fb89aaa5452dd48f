"""A draft's window caps what it holds and what it reads; one that no sequence outgrows is none."""

from dataclasses import replace

import pytest
from pydantic import ValidationError

from simulator.catalog.load import forget, load_model
from simulator.physics import windows
from simulator.physics.checks import check_deployment
from simulator.physics.draft import NO_DRAFT
from simulator.physics.ledger import memory_ledger
from simulator.physics.step_model import build_step_model
from simulator.spec.draft import Draft
from tests.simulator.physics.speculating import ACCEPTANCE, PROMPT, decode, step_model
from tests.simulator.physics.toys import deployment, ledger

EIGHT_B = {"model": "llama-3.1-8b", "weights": "bf16"}
SMALL = {"model": "llama-3.2-1b", "kv": "fp8"}
WINDOW = {"sinks": 4, "recent": 508}
MOE = {"model": "qwen3-30b-a3b", "weights": "bf16"}
SUBSET = {"moe_subset": {"resident_experts": 32, "active_experts": 2}}


def windowed(draft, recent, sinks=4):
    return {**draft, "window": {"sinks": sinks, "recent": recent}}


@pytest.mark.parametrize("draft", [SMALL, {"head": {"method": "eagle"}}])
def test_a_window_no_shorter_than_the_longest_sequence_is_none(draft):
    longest = {"max_model_len": 8192}
    wide, none = (deployment(**EIGHT_B, draft=one, engine=longest) for one in (windowed(draft, 8188), draft))

    assert memory_ledger("it", wide) == memory_ledger("it", none)
    models = [build_step_model(one) for one in (wide, none)]
    for shape in (decode(1, 2, 100), decode(40, 2, 8000), PROMPT):
        assert models[0].cost(shape) == models[1].cost(shape)


def test_a_window_one_token_shorter_counts():
    longest = {"max_model_len": 8192}
    narrow, none = (ledger(**EIGHT_B, draft=one, engine=longest) for one in (windowed(SMALL, 8187), SMALL))

    assert narrow.kv_bytes_per_token["draft"] == 0
    assert narrow.kv_bytes_per_sequence_fixed["draft"] == 8191 * none.kv_bytes_per_token["draft"]


@pytest.mark.parametrize(
    "draft", [{"model": "llama-3.2-1b"}, {"head": {"method": "eagle3"}}, {"head": {"method": "mtp", "modules": 2}}]
)
def test_a_draft_with_a_window_holds_so_many_tokens_of_a_sequence(draft):
    row, whole = (ledger(**EIGHT_B, draft=one) for one in (windowed(draft, 508), draft))

    per_token = whole.kv_bytes_per_token["draft"]
    assert row.kv_bytes_per_sequence_fixed["draft"] == 512 * per_token
    target = 131_072
    blocks = -(-(131_072 * target + 512 * per_token) // (16 * target))
    assert row.max_sequences_at[131_072] == row.kv_blocks // blocks
    assert row.max_sequences_at[131_072] >= whole.max_sequences_at[131_072]


def test_a_shorter_window_never_holds_fewer_sequences():
    held = [ledger(**EIGHT_B, draft=windowed(SMALL, n)).max_sequences_at[32_768] for n in (252, 2044, 16_380, 65_532)]

    assert held == sorted(held, reverse=True)
    assert held[0] > held[-1]


@pytest.mark.parametrize(
    ("target", "draft"), [(EIGHT_B, SMALL), (EIGHT_B, {"head": {"method": "eagle"}}), (MOE, SUBSET)]
)
def test_passes_of_a_draft_with_a_window_do_not_grow_with_the_context(target, draft):
    capped, whole = (step_model(one, target=target) for one in (windowed(draft, 508), draft))

    near, far = (capped.cost(decode(32, 4, context)).draft_s for context in (1024, 65_536))
    assert near == far
    assert far < 0.9 * whole.cost(decode(32, 4, 65_536)).draft_s


@pytest.mark.parametrize("draft", [SMALL, {"head": {"method": "eagle"}}])
def test_at_a_context_as_long_as_the_window_a_draft_takes_as_long_as_without(draft):
    capped, whole = (step_model(one) for one in (windowed(draft, 1020), draft))

    assert capped.cost(decode(8, 4, 1024)).draft_s == pytest.approx(whole.cost(decode(8, 4, 1024)).draft_s)


def test_a_window_takes_the_square_off_the_drafts_prefill():
    capped, whole = (step_model(one) for one in (windowed(SMALL, 508), SMALL))
    late_chunk = PROMPT._replace(prefill_context_tokens=2048 * 100_000.0)

    assert capped.cost(late_chunk).draft_s < 0.7 * whole.cost(late_chunk).draft_s
    assert capped.cost(late_chunk).draft_s == capped.cost(PROMPT).draft_s


def test_a_prompts_tokens_attend_to_no_more_than_the_window_and_their_chunk():
    draft = replace(NO_DRAFT, prefill_s=lambda tokens: 1e-3 * tokens, prefill_context_s=1e-6)

    capped = windows.windowed(draft, 512)

    assert capped.prefill_s(100) == pytest.approx(0.1 + 1e-6 * 100 * 100)
    assert capped.prefill_s(2048) == pytest.approx(2.048 + 1e-6 * 2048 * 512)


def test_only_drafts_with_kv_of_their_own_take_a_window():
    with pytest.raises(ValidationError, match="a draft by `ngram` has no KV of its own to cap"):
        Draft.model_validate({"ngram": {}, "window": WINDOW, "acceptance": ACCEPTANCE})


def test_layers_that_slide_take_no_second_window():
    told = check_deployment("it", deployment(**EIGHT_B, draft=windowed({"model": "gemma-3-1b"}, 508)))

    assert len(told) == 1
    assert "22 of the 26 layers of gemma-3-1b keep a window of their own" in told[0]


def test_int8_kv_is_as_large_as_fp8_and_priced_by_its_kernels():
    rows = [ledger(**EIGHT_B, draft={**SMALL, "kv": kv}) for kv in ("int8", "fp8", "bf16")]
    int8, fp8 = (step_model({**SMALL, "kv": kv}) for kv in ("int8", "fp8"))

    assert rows[0].kv_bytes_per_token == rows[1].kv_bytes_per_token
    assert 2 * rows[0].kv_bytes_per_token["draft"] == rows[2].kv_bytes_per_token["draft"]
    assert int8.cost(decode(8, 4)) == fp8.cost(decode(8, 4))
    assert any("int8 KV: as on fp8" in said for said in int8.calibration.derived)


def test_a_compressed_cache_is_not_stored_in_int8():
    told = check_deployment("it", deployment(model="deepseek-v4-flash", tensor_parallel=8, kv="int8"))

    assert told == ["it.target.kv: the compressed cache of deepseek-v4-flash is stored in fp8 or bf16, not in int8"]


def test_a_head_on_the_targets_kv_holds_none_and_reads_no_prompt():
    frozen, own = ({"head": {"method": "mtp", "shares_kv": shares}} for shares in (True, False))

    rows = [ledger(**EIGHT_B, draft=draft) for draft in (frozen, own)]
    models = [step_model(draft) for draft in (frozen, own)]

    assert rows[0].kv_bytes_per_token["draft"] == 0 < rows[1].kv_bytes_per_token["draft"]
    assert rows[0].draft_weights_bytes == rows[1].draft_weights_bytes
    assert models[0].cost(PROMPT).draft_s == 0.0 < models[1].cost(PROMPT).draft_s
    assert 0.0 < models[0].cost(decode(64, 4)).draft_s < models[1].cost(decode(64, 4)).draft_s


def test_a_model_shares_the_targets_kv_only_where_its_file_says_so():
    told = check_deployment("it", deployment(**EIGHT_B, draft={**SMALL, "shares_target_kv": True}))

    assert len(told) == 1
    assert told[0].startswith("it.speculation.drafts.small.shares_target_kv: llama-3.2-1b has weights of its own")


@pytest.mark.parametrize(
    ("way", "message"),
    [
        ({"ngram": {}}, "no KV of a known layout"),
        ({"head": {"method": "eagle"}}, "head.shares_kv"),
        (SUBSET, "moe_subset.shares_kv"),
    ],
)
def test_other_drafts_say_elsewhere_that_they_share(way, message):
    with pytest.raises(ValidationError, match=message):
        Draft.model_validate({**way, "shares_target_kv": True, "acceptance": ACCEPTANCE})


def test_a_head_reads_the_targets_kv_in_the_targets_dtype():
    head = {"head": {"method": "mtp", "shares_kv": True}, "kv": "bf16"}
    slopes = [step_model(head, target=EIGHT_B | {"kv": kv}).draft.passes(64, 1)[1] for kv in ("bf16", "fp8")]

    assert slopes[1] < slopes[0]


@pytest.fixture
def assistant(tmp_path, monkeypatch):
    """A model of one's own catalog that was trained to read the target's KV."""
    (tmp_path / "models").mkdir()
    told = load_model("llama-3.2-1b").model_copy(update={"name": "assistant", "shares_kv_of": ("llama-3.1-8b",)})
    (tmp_path / "models" / "assistant.yaml").write_text(told.model_dump_json(exclude_defaults=True))
    monkeypatch.setenv("SPECFLEET_CATALOG", str(tmp_path))
    forget()
    yield "assistant"
    monkeypatch.undo()
    forget()


def test_a_model_whose_file_says_so_reads_the_targets_kv(assistant):
    sharing, own = ({"model": assistant, "shares_target_kv": shares} for shares in (True, False))

    rows = [ledger(**EIGHT_B, draft=draft) for draft in (sharing, own)]

    assert check_deployment("it", deployment(**EIGHT_B, draft=sharing)) == []
    assert rows[0].kv_bytes_per_token["draft"] == 0 < rows[1].kv_bytes_per_token["draft"]
    assert step_model(sharing).cost(PROMPT).draft_s == 0.0 < step_model(own).cost(PROMPT).draft_s
