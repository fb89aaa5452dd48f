from app.figures import memory as figures
from tests.app.figures.toys import LOOKS, ledger_row, texts


def test_the_parts_of_a_bar_add_up_to_the_memory():
    shown = figures.ledger_figure([ledger_row()])

    assert sum(trace.x[0] for trace in shown.data if trace.type == "bar") == 100.0


def test_what_is_held_by_no_deployment_is_left_out():
    assert "draft weights" not in {trace.name for trace in figures.ledger_figure([ledger_row()]).data}


def test_parts_differ_in_pattern_and_say_how_they_are_counted():
    shown = figures.ledger_figure([ledger_row(draft_weights_bytes=2e9)])
    patterns = [trace.marker.pattern.shape for trace in shown.data if trace.type == "bar"][:5]

    assert len(set(patterns)) == 5
    assert "h200: KV cache 44.0 GB (40.98 GiB), 44 % of the GPU · usable − all before" in texts(shown)


def test_a_bar_that_does_not_fit_reaches_beyond_the_memory():
    row = ledger_row(target_weights_bytes=120e9, kv_budget_bytes=0, fits=False, shortfall_bytes=30e9)
    shown = figures.ledger_figure([row])

    assert sum(trace.x[0] for trace in shown.data if trace.type == "bar") > 100.0
    assert "lacks 30.0 GB" in figures.ledger_alt([row])


def test_a_long_name_leaves_its_bar_room():
    shown = figures.ledger_figure([ledger_row(deployment="production-eu-west-chat-fleet")])

    assert shown.layout.yaxis.ticktext == ("production-eu-west-ch…",)
    assert shown.layout.yaxis.tickvals == ("production-eu-west-chat-fleet",)


def test_a_context_of_which_none_fits_has_no_point():
    line = figures.sequences_figure([ledger_row()], LOOKS).data[0]

    assert (list(line.x), list(line.y)) == ([1024, 8192], [80, 10])
    assert "0 of 128K" in figures.sequences_alt([ledger_row()])


def test_contexts_that_stand_close_together_share_a_label():
    lengths = {str(1024 * n): 5 for n in (1, 4, 8, 32, 128, 256, 1024)}

    axis = figures.sequences_figure([ledger_row(max_sequences_at=lengths)], LOOKS).layout.xaxis

    assert axis.ticktext == ("1K", "4K", "32K", "128K", "1024K")


def test_a_role_with_a_draft_is_named():
    assert figures.role_name(ledger_row(role="target+draft")) == "h200<br>target+draft"


def test_what_several_drafts_hold_is_told_by_draft():
    drafts = {"draft_weights_bytes_by_draft": {"code": 2e9, "math": 1e9}, "router_weights_bytes": 3e8}
    shown = figures.ledger_figure([ledger_row(draft_weights_bytes=3.3e9, **drafts)])

    assert "code 2.0 GB, math 1.0 GB, (router) 0.3 GB · " in texts(shown)


def test_what_lies_on_the_host_stands_beyond_the_memory():
    shown = figures.ledger_figure([ledger_row(kv_host_bytes=50e9, kv_host_share=0.4)])
    bars = [trace for trace in shown.data if trace.type == "bar"]

    assert (bars[-1].name, sum(trace.x[0] for trace in bars)) == ("KV on the host", 150.0)
    assert "and KV on the host 50.0 GB (40 % of it)" in figures.ledger_alt(
        [ledger_row(kv_host_bytes=50e9, kv_host_share=0.4)]
    )


HELD = [
    figures.Held("as it is", 100), figures.Held("fp8", 200), figures.Held("bf16", 50), figures.Held("large", 0, 2**30),
    figures.Held("window", 0, possible=False),
]  # fmt: skip


def test_a_step_says_how_many_times_what_there_is():
    bars, labels = figures.steps_figure(HELD, 8192).data

    assert [text.strip() for text in labels.text] == [
        "100",
        "200, 2.00×",
        "50, 0.500×",
        "lacks 1.00 GiB",
        "not possible",
    ]
    assert len(set(bars.marker.color)) == 3
    assert "fp8 200, 2.00×" in figures.steps_alt(HELD, 8192)


def test_a_label_stands_beyond_its_bar_and_beyond_the_upright():
    labels = figures.steps_figure(HELD, 8192).data[1]

    assert list(labels.x) == [100, 200, 100, 100, 100]


def test_where_nothing_is_held_there_is_nothing_to_measure_against():
    shown = figures.steps_figure([figures.Held("as it is", 0, 2**30), figures.Held("fp8", 20)], 8192)

    assert [text.strip() for text in shown.data[1].text] == ["lacks 1.00 GiB", "20"]
    assert not shown.layout.shapes
