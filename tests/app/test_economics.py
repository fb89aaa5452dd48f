"""The sentences on what drafts cost and when they have paid back."""

from app.tables.economics import economics_lines
from tests.app import toys

ENTRY = {
    "deployment": "spec", "against": "plain", "gpus_for_offered": 8, "gpus_for_offered_without": 12,
    "saving_usd_per_hour": 14.0, "one_time_usd": 21000.0, "months_to_pay_back": 2.05,
    "draft_weights_share_of_hbm": 0.016, "draft_kv_ratio": 0.1, "operations_ratio": 1.72,
}  # fmt: skip


def said(**changes):
    return next(economics_lines([ENTRY | changes]))[1]


def test_months_gpus_and_what_is_added_are_said():
    assert said() == (
        "spec: $21,000 to make the drafts are earned back in 2.0 months: 8 GPUs in place of 12 (plain) save $14.00/h; "
        "on the fullest GPU their weights take 1.6 % of it, their KV 10 % of the target's; a token takes 1.72× the FLOPs"
    )


def test_what_never_pays_back_is_said():
    assert "never pay back at this load" in said(months_to_pay_back=None, saving_usd_per_hour=-1.0)


def test_nothing_to_save_against_is_said():
    assert "no deployment without any holds this load" in said(months_to_pay_back=None, saving_usd_per_hour=None)


def test_without_a_cost_nothing_is_said():
    assert list(economics_lines([ENTRY | {"one_time_usd": None}])) == []


def test_the_estimate_says_when_the_drafts_have_paid_back():
    training = "deployments.h200-spec.economics={engineering_weeks: 3, usd_per_week: 5000}"

    out = toys.call("estimate", "h200_vs_b200_chat", "--set", training).stdout

    assert "Pays back" in out
    assert "$15,000 to make the drafts" in out
