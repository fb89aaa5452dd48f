"""Every way to get draft GPUs wrong is answered with its place, the value and the way out."""

import pytest

from simulator.errors import ScenarioError
from tests.scenarios.examples import edited, load_text

CHAIN = "{shape: chain, draft_tokens: 2}"
SMALL = "model: llama-3.2-1b"
ON_H200 = "gpu: h200-sxm"


def placed(more, link="nvlink"):
    """What replaces the chain: the chain, and drafts on GPUs of their own."""
    return f"{CHAIN}\n      placement: {{kind: dedicated, link: {link}{more}}}"


def ahead(how):
    return placed(f", overlap: {{kind: draft_ahead{how}}}")


REFUSED = [
    (((CHAIN, placed(", gpus: 0")),), "placement.gpus: 0: Input should be greater than or equal to 1"),
    (((CHAIN, placed(", shared_by: 2")),), "placement.shared_by 2: there are 1 replicas to share draft GPUs"),
    (((CHAIN, placed("", link="rdma")),), "placement.link: 'rdma': not one of the known values; known: nvlink, pcie"),
    (
        ((CHAIN, placed(", gpu: b200-sxm")),),
        "placement.gpu b200-sxm is not the deployment's h200-sxm: give placement.pr",
    ),
    (
        ((CHAIN, placed(", gpu: b20-sxm, price: 3")),),
        "placement.gpu: no GPU 'b20-sxm' in the catalog; nearest: b200-sxm",
    ),
    (
        ((CHAIN, placed(", gpu: gb200, price: {catalog: nebius-on-demand}")),),
        "placement.price.catalog: price list 'nebius-on-demand' has no price of GPU 'gb200'",
    ),
    (
        ((CHAIN, placed(", payload: logits")),),
        "placement.payload: 'logits': not one of the known values; known: token_ids",
    ),
    (((CHAIN, ahead("")),), "draft_ahead: give the measured hit, or bonus_guess, from which it follows"),
    (((CHAIN, ahead(", hit: 0.5, bonus_guess: 0.5")),), "draft_ahead: give the measured hit, or bonus_guess"),
    (((CHAIN, ahead(", hit: 1.5")),), "overlap.hit: 1.5: Input should be less than or equal to 1"),
    (
        ((CHAIN, ahead(", hit: 0.5, outcomes: 4")),),
        "draft_ahead: 4 outcomes, but a step accepts 0 to 2 draft tokens: at most 3",
    ),
    (((CHAIN, placed(", overlap: {kind: pearl}")),), "'pearl': unknown kind; write kind: draft_ahead"),
    (((CHAIN, f"{CHAIN}\n      placement: {{kind: separate}}"),), "'separate': unknown kind; write kind: dedicated"),
    (
        ((CHAIN, placed("")), (SMALL, "ngram: {}")),
        "draft small is given by `ngram`: copied text needs no GPU, and has no",
    ),
    (
        ((CHAIN, placed(", payload: probabilities")), (SMALL, "ngram: {}")),
        "copied text needs no GPU, and has no probabilities to send; keep it colocated",
    ),
    (((CHAIN, placed("")), (SMALL, "head: {method: eagle}")), "a head reads the target's hidden states"),
    (
        ((CHAIN, placed("")), (SMALL, f"{SMALL}\n          tensor_parallel: 2")),
        "draft small: the draft's tensor_parallel 2 is above placement.gpus 1: a pool holds a whole draft",
    ),
    (
        ((CHAIN, placed(", gpus: 3")), (SMALL, f"{SMALL}\n          tensor_parallel: 2")),
        "placement.gpus 3: 1 would idle beside drafts split over so many GPUs: small 2",
    ),
    (
        ((CHAIN, placed("")), (SMALL, f"{SMALL}\n          shares_target_kv: true")),
        "draft small shares the target's KV, which lies on other GPUs",
    ),
]


@pytest.mark.parametrize(
    ("replacements", "told"), REFUSED, ids=lambda value: value[:60] if isinstance(value, str) else ""
)
def test_what_is_wrong_with_draft_gpus_is_told(replacements, told):
    with pytest.raises(ScenarioError) as raised:
        load_text(edited(*replacements))

    assert told in str(raised.value)


def test_a_draft_may_be_split_more_widely_than_its_target():
    loaded = load_text(edited((CHAIN, placed(", gpus: 2")), (SMALL, f"{SMALL}\n          tensor_parallel: 2")))

    assert loaded.points[0].scenario.deployments["spec"].num_gpus == 3
