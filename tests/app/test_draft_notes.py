from app.results import PointResult, put_together
from app.tables.drafts import draft_notes
from app.tables.verdict import notes, point_block
from tests.app import toys

SEVERAL = toys.row(
    "routed", drafts=["coder", "writer"], draft_bytes=7.4e9, tokens_per_step=3.5, step_time_share={"draft": 0.35}
)
LARGER = toys.row("larger", drafts=["one"], draft_bytes=6.4e9, tokens_per_step=3.1, step_time_share={"draft": 0.3})


def said(*rows):
    return [f"{names}: {text}" for names, text in draft_notes(rows)]


def test_several_drafts_without_a_single_one_of_their_size_prove_nothing():
    small = toys.row("one", drafts=["general"], draft_bytes=2.5e9)
    other_gpu = toys.row("elsewhere", gpu="b200-sxm", drafts=["larger"], draft_bytes=7.4e9)

    *_, note = said(small, other_gpu, SEVERAL)

    assert note.startswith("routed: no single draft of the same budget (±20 % of the bytes, same GPU) beside it")


def test_a_single_draft_of_about_their_size_is_what_several_are_held_against():
    assert not [note for note in said(LARGER, SEVERAL) if "nothing says" in note]


def test_several_drafts_are_held_against_the_best_single_one_and_one_of_their_size():
    small = toys.row(
        "small", drafts=["s"], draft_bytes=2.5e9, capacity_req_per_s=30.0, tokens_per_step=2.9,
        step_time_share={"draft": 0.2},
    )  # fmt: skip

    (note,) = said(small, LARGER, SEVERAL)

    assert note == (
        "routed: holds 0.500× the requests per GPU of small (the best single draft) and 1.00× the requests per GPU of larger "
        "(a single draft of its bytes): 3.50 tokens per step against 2.90 and 3.10, and at this load 35 % of the step "
        "time for drafting against 20 % and 30 %"
    )


def test_over_a_sweep_they_are_held_against_each_other_at_each_point():
    points = [row | {"point": point} for point in ("a", "b") for row in (LARGER, SEVERAL)]

    assert list(notes(points)) == []
    assert "routed: holds 1.00× the requests per GPU of larger" in toys.rendered(point_block({}, [LARGER, SEVERAL]))


def test_deployments_that_hold_nothing_are_not_held_against_any():
    assert said(LARGER, SEVERAL | {"capacity_req_per_s": None}) == []


def test_the_json_tells_it_too():
    point = PointResult("base", {}, "", {"rows": [SEVERAL], "comparison": {}}, 0.0)

    (note,) = put_together("several", [point], [])["drafts"]

    assert (note["point"], note["deployments"]) == ("base", "routed")
    assert note["note"].startswith("no single draft of the same budget")
