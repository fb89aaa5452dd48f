"""Values for the chart llm-d-modelservice: the vLLM flags of a deployment, its replicas and its GPUs.

Keys: llm-d-incubation/llm-d-modelservice `charts/llm-d-modelservice/values.yaml` (@024c0f2d); the chart itself adds the
model, its port and its split to `vllm serve`.
"""

from math import ceil
from typing import Any

import yaml

from app.export.command import filled
from app.export.formats import draft_checkpoint, quantised_on_loading, target_checkpoint
from app.export.served import DRAFT, Served
from app.export.vllm import arguments
from simulator.physics.ledger import memory_ledger

IMAGE = "vllm/vllm-openai:latest"
"""Pin the release that you have measured."""
SPARE = 1.2
"""Room for a checkpoint ÷ the weights in it: tokenizer, and what a download leaves. A choice."""
HEAD = """\
# {name}: helm install {release} llm-d-modelservice/llm-d-modelservice -f values.yaml
# A gated model needs modelArtifacts.authSecretName: a secret of your cluster that holds the access token.
# Requests are spread over the replicas by the gateway; here they were by `{router}`.
"""


def values(served: Served) -> str:
    """The values file of a deployment that vLLM serves."""
    spec, target = served.spec, served.spec.target
    model = target_checkpoint(served) or f"YOUR/{target.model}"
    document: dict[str, Any] = {
        "modelArtifacts": {"name": model, "uri": f"hf://{model}", "size": f"{_size_gib(served)}Gi"},
        "decode": {
            "create": True,
            "replicas": spec.replicas,
            "parallelism": {"tensor": target.tensor_parallel, "data": target.data_parallel},
            "containers": [_container(served)],
        },
        "prefill": {"create": False},
    }
    release = served.name.lower().replace("_", "-").replace(".", "-")
    head = HEAD.format(name=served.name, release=release, router=spec.router.kind)
    return head + yaml.safe_dump(document, sort_keys=False, width=120)


def _container(served: Served) -> dict[str, Any]:
    known = {DRAFT: draft_checkpoint(served) or "YOUR/draft"}
    return {
        "name": "vllm",
        "image": IMAGE,
        "modelCommand": "vllmServe",
        "args": [filled(word, known) for word in arguments(served)],
        "resources": {"limits": {"nvidia.com/gpu": str(served.spec.target.num_gpus)}},
        "mountModelVolume": True,
    }


def _size_gib(served: Served) -> int:
    """Volume for the checkpoints [GiB]; one in bf16 that is quantised while it is loaded is twice as large as then."""
    row, target = memory_ledger(served.name, served.spec)[0], served.spec.target
    loaded = row.target_weights_bytes * target.num_gpus + row.draft_weights_bytes
    stored = 2 * loaded if quantised_on_loading(served.engine, target.weights) else loaded
    return ceil(SPARE * stored / 2**30)
