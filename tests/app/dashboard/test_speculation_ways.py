"""Ways to draft: what each says as a file, and what they do side by side."""

import numpy as np
import pytest

from app.dashboard.speculation.compared import at_batch, compared, lines_of, over_batches, said, sources, speculations
from app.dashboard.speculation.compared import table_of as table
from app.dashboard.speculation.found import flight_of, with_speculation
from app.dashboard.speculation.ways import (
    AT_FIRST,
    BEST_TREE,
    WAYS,
    Asked,
    Knobs,
    choices,
    own_accuracy,
    specialised,
)
from app.dashboard.speculation_inputs import View, own_choice
from app.format import times, usd
from scenarios.load import load_scenario
from simulator.planning.in_flight import in_flight
from simulator.spec.speculation import DraftSpeculation

KNOBS = Knobs(drafts=3, accuracy=0.95, correlation=0.6, inside=1.15, outside=0.9, tree=BEST_TREE)


def asked(file="h200_vs_b200_chat", name="b200-spec", draft=None, sequences=16.0, **knobs):
    scenario = load_scenario(file).points[0].scenario
    return Asked(
        scenario, View(name, draft, own_choice(scenario, name, draft), sequences, None), KNOBS._replace(**knobs)
    )


def made(kind, of):
    """A way as the scenario takes it."""
    return DraftSpeculation.model_validate(WAYS[kind](of).speculation)


def by_way(of, *kinds):
    return {row["way"]: row for row in at_batch(compared(of, kinds), of.view.sequences)}


@pytest.mark.parametrize("kind", WAYS)
def test_every_way_is_one_that_a_scenario_takes_and_has_a_place(kind):
    of = asked()
    found = flight_of(with_speculation(of.scenario, "b200-spec", WAYS[kind](of).speculation), "b200-spec")

    assert found.output_tokens_per_s[found.at(16)] > 0
    assert found.tokens_per_step > 1


def test_the_figures_are_the_librarys_for_the_scenario_with_and_without_its_draft():
    of = asked()
    row = by_way(of, "as it stands")["b200-spec as it stands"]

    drafting, plain = (in_flight(of.scenario, name) for name in ("b200-spec", "b200-plain"))
    here = drafting.at(16)

    assert row["speedup"] == drafting.output_tokens_per_s[here] / plain.output_tokens_per_s[here]
    assert row["usd_per_million_output_tokens"] == drafting.usd_per_million_output_tokens[here]
    assert row["step_s"] == drafting.step_s[here]
    assert row["tokens_per_step"] == drafting.tokens_per_step


def test_a_chain_that_is_the_deployments_own_is_drawn_once():
    found = compared(asked(), ("as it stands", "chain"))

    assert [one.way.name for one in found.shown] == ["b200-spec as it stands"]
    assert found.left_out == [("one draft, a chain", "the same as b200-spec as it stands")]


def test_router_accuracy_moves_routed_drafts_and_nothing_else():
    good, bad = (by_way(asked(accuracy=accuracy), *AT_FIRST) for accuracy in (1.0, 0.3))
    moved = {name for name in good if good[name]["speedup"] != bad[name]["speedup"]}

    assert moved == {"3 drafts, routed"}
    assert good["3 drafts, routed"]["tokens_per_step"] > bad["3 drafts, routed"]["tokens_per_step"]


def test_drafts_that_reject_alike_bring_less_together():
    alike, apart = (
        by_way(asked(correlation=correlation), "all at once")["3 drafts, all at once"] for correlation in (1.0, 0.0)
    )

    assert alike["tokens_per_step"] < apart["tokens_per_step"]


def test_the_baseline_proposes_as_many_tokens_as_all_drafts_together():
    of = asked()

    assert made("equal budget", of).draft_tokens == made("all at once", of).draft_tokens == 12
    assert [line.name for line in lines_of(compared(of, AT_FIRST)) if line.baseline] == [
        "one draft, a chain of 12: equal budget"
    ]


def test_what_several_drafts_bring_over_the_baseline_is_said():
    of = asked()
    rows = at_batch(compared(of, AT_FIRST), 16.0)
    named = {row["way"]: row for row in rows}
    over = named["3 drafts, routed"]["speedup"] / named["one draft, a chain of 12: equal budget"]["speedup"]

    assert f"3 drafts, routed: {times(over)}" in said(rows, 16.0)


def test_the_fastest_way_is_named_with_its_cost_and_where_its_acceptance_is_from():
    of = asked()
    rows = at_batch(compared(of, AT_FIRST), 16.0)
    best = max(rows, key=lambda row: row["speedup"])

    sentence = said(rows, 16.0)

    assert f"**{best['way']}** is the fastest: {times(best['speedup'])}" in sentence
    assert usd(best["usd_per_million_output_tokens"]) in sentence
    assert best["acceptance"] in sentence


def test_where_nothing_pays_no_draft_is_the_fastest():
    rows = by_way(asked(sequences=192.0), "equal budget").values()

    assert said(list(rows), 192.0) == "With 192 sequences in flight **no draft** is the fastest."


def test_a_specialised_draft_is_better_in_its_class_and_worse_elsewhere():
    drafts, routes = specialised(asked())
    of_code = drafts[routes["code"]]["acceptance"]

    assert set(routes) == {"code", "prose", "math"}
    assert (of_code["code"]["uplift"]["factor"], of_code["math"]["uplift"]["factor"]) == (1.15, 0.9)


def test_fewer_drafts_than_classes_share_them():
    drafts, routes = specialised(asked(drafts=2))

    assert len(drafts) == len(set(routes.values())) == 2


def test_a_routed_deployment_stands_as_it_is_until_its_accuracy_is_moved():
    file, name = "multi_draft_code_math_prose", "h200-routed"
    own = load_scenario(file).points[0].scenario.deployments[name].speculation

    assert own_accuracy(own) == 0.95
    assert made("as it stands", asked(file, name, "coder")) == own
    assert made("as it stands", asked(file, name, "coder", accuracy=0.4)).combine.accuracy == {"all": 0.4}


def test_a_union_stands_as_it_is_until_its_correlation_is_moved():
    file, name = "multi_draft_code_math_prose", "h200-union"
    moved = made("as it stands", asked(file, name, "coder", correlation=0.1))

    assert made("as it stands", asked(file, name, "coder")).combine.recursive_rejection.correlation == 0.6
    assert moved.combine.recursive_rejection.correlation == 0.1


def test_a_tree_keeps_the_acceptance_and_says_what_it_assumes_of_further_children():
    way = WAYS["tree"](asked(tree="3·2·1·1"))

    assert made("tree", asked(tree="3·2·1·1")).propose.widths == (3, 2, 1, 1)
    assert "Sequoia" in way.acceptance
    assert "assumed" in way.acceptance


def test_the_best_tree_changes_with_the_batch():
    nodes = [by_way(asked(sequences=n), "tree")["one draft, a tree"]["draft_tokens"] for n in (1.0, 192.0)]

    assert nodes[0] > nodes[1]


def test_requests_of_one_class_leave_nothing_to_specialise_in():
    found = compared(asked("moe_subset", "own-copy"), ("routed", "all at once", "equal budget", "EAGLE-3 head"))

    assert [name for name, _ in found.left_out] == ["routed", "all at once", "equal budget"]
    assert all("one class" in why for _, why in found.left_out)
    assert [one.way.name for one in found.shown] == ["EAGLE-3 head"]


def test_a_tree_of_a_look_up_is_not_drawn_and_says_why():
    found = compared(asked("cpu_smollm2", "lookup", sequences=4.0), ("tree",))

    assert found.shown == []
    assert "drafted says how long a chain was" in found.left_out[0][1]


def test_a_deployment_without_a_draft_has_ways_of_an_assumed_one():
    found = compared(asked("eagle_heads", "plain"), AT_FIRST)

    assert ("as it stands", "plain has no draft") in found.left_out
    assert "as the sliders say" in dict(sources(at_batch(found, 16.0)))["one draft, a chain"]


def test_a_preset_says_on_which_pair_of_models_it_was_measured():
    rows = at_batch(compared(asked(), ("EAGLE-3 head",)), 16.0)

    assert "llama-3.1-8b" in dict(sources(rows))["EAGLE-3 head"]


def test_memory_taken_counts_all_drafts_and_the_router():
    rows = by_way(asked(), "chain", "routed")

    assert rows["no draft"]["draft_weights_bytes"] == 0
    assert rows["no draft"]["kv_tokens_share"] == 1.0
    assert rows["3 drafts, routed"]["draft_weights_bytes"] > 3 * rows["one draft, a chain"]["draft_weights_bytes"]
    assert rows["3 drafts, routed"]["kv_tokens_share"] < rows["one draft, a chain"]["kv_tokens_share"] < 1.0


def test_a_batch_without_a_place_is_said_and_drawn_as_nothing():
    found = compared(asked(sequences=256.0), ("all at once",))
    rows = at_batch(found, 256.0)

    assert table(rows)[1]["speed-up"] == "no place"
    assert np.isnan(lines_of(found)[0].speedup[-1])


def test_the_csv_has_a_row_for_each_way_and_batch():
    found = compared(asked(), ("as it stands", "EAGLE-3 head"))
    rows = over_batches(found)

    assert {row["way"] for row in rows} == {"no draft", "b200-spec as it stands", "EAGLE-3 head"}
    assert len(rows) == 3 * len(found.plain.flight.sequences)


def test_what_stands_already_cannot_be_taken_once_more():
    found = compared(asked(), ("as it stands", "routed"))

    assert set(speculations(found)) == {"3 drafts, routed"}


def test_other_deployments_of_the_gpu_and_target_are_ways_too():
    of = asked("multi_draft_code_math_prose", "h200-general-1b")
    found = {kind for kind in choices(of.scenario, "h200-general-1b") if kind.startswith("as h200") or "b200" in kind}
    row = by_way(of, "as h200-routed")["as h200-routed"]

    assert found == {"as h200-general-3b", "as h200-routed", "as h200-union"}
    assert row["tokens_per_step"] == in_flight(of.scenario, "h200-routed").tokens_per_step
