"""`specfleet memory`: what each GPU's memory goes to, and whether it is enough."""

from typing import Annotated, Any

import typer

from app.exits import NOTHING_HOLDS, OK
from app.options import Debug, Json, Quiet, Sets

MaybeFile = Annotated[str | None, typer.Argument(metavar="FILE", help="A scenario file or a built-in scenario.")]
Gpu = Annotated[str | None, typer.Option("--gpu", help="Without a file: a GPU of the catalog.")]
Model = Annotated[str | None, typer.Option("--model", help="Without a file: a model of the catalog.")]
Weights = Annotated[str | None, typer.Option("--weights", help="Weight format, by default bf16; or fp8, nvfp4, ...")]
Kv = Annotated[str | None, typer.Option("--kv", help="KV format, by default bf16; or fp8.")]
Unquantised = Annotated[
    list[str] | None,
    typer.Option("--unquantised", help="Part that stays in bf16: attention, first_and_last_mlp. Repeatable."),
]
Tp = Annotated[int | None, typer.Option("--tp", min=1, help="Tensor parallel: GPUs over which each layer is split.")]
Dp = Annotated[int | None, typer.Option("--dp", min=1, help="Data parallel: copies of the attention.")]
Ep = Annotated[int | None, typer.Option("--ep", min=1, help="Expert parallel: groups over which experts are spread.")]
Length = Annotated[int | None, typer.Option("--max-model-len", min=1, help="Longest prompt plus output [tokens].")]
Batched = Annotated[int | None, typer.Option("--max-num-batched-tokens", min=1, help="Token budget of a step.")]
Fraction = Annotated[float | None, typer.Option("--memory-fraction", help="Share of the memory the engine may use.")]
Budget = Annotated[float | None, typer.Option("--hbm-budget-gb", help="Cap on what a GPU may use [10^9 bytes].")]
Host = Annotated[float | None, typer.Option("--kv-host-gb", help="Host memory for KV, of each GPU [10^9 bytes].")]
Policy = Annotated[str | None, typer.Option("--policy", help="Engine policy, by default vllm; or trtllm, sglang.")]


def memory(
    file: MaybeFile = None,
    as_json: Json = False,
    sets: Sets = None,
    gpu: Gpu = None,
    model: Model = None,
    weights: Weights = None,
    kv: Kv = None,
    unquantised: Unquantised = None,
    tp: Tp = None,
    dp: Dp = None,
    ep: Ep = None,
    max_model_len: Length = None,
    max_num_batched_tokens: Batched = None,
    memory_fraction: Fraction = None,
    hbm_budget_gb: Budget = None,
    kv_host_gb: Host = None,
    policy: Policy = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Say what fits: weights, draft, activations, KV of each GPU.

    Of a scenario's deployments, or of one that --gpu and --model describe.

    \b
    Examples:
      specfleet memory chat.yaml
      specfleet memory --gpu h100-sxm --model llama-3.1-8b --tp 1 --max-model-len 16000
      specfleet memory --gpu h200-sxm --model llama-3.3-70b --weights fp8 --kv fp8 --tp 2 --json
    """
    from app.ledgers import of_deployment, of_scenario
    from app.loading import load

    split = _stated(tensor_parallel=tp, data_parallel=dp, expert_parallel=ep)
    target = _stated(model=model, weights=weights, kv=kv, unquantised=unquantised or None) | split
    engine = _stated(
        policy=policy,
        max_model_len=max_model_len,
        max_num_batched_tokens=max_num_batched_tokens,
        memory_fraction=memory_fraction,
        hbm_budget_gb=hbm_budget_gb,
        kv_host_gb=kv_host_gb,
    )
    if file is not None:
        if gpu is not None or target or engine:
            raise typer.BadParameter("a file says all of the deployment: change it by --set", param_hint="FILE")
        rows = of_scenario(load(file, sets or ()))
    else:
        if gpu is None or model is None:
            raise typer.BadParameter("give a scenario file, or --gpu and --model", param_hint="FILE")
        if sets:
            raise typer.BadParameter("changes a scenario file: give one", param_hint="--set")
        described = {"gpu": gpu, "target": {"weights": "bf16"} | target, "engine": {"policy": "vllm"} | engine}
        rows = of_deployment(described)
    _print(rows, as_json=as_json)
    raise typer.Exit(OK if all(row["fits"] for row in rows) else NOTHING_HOLDS)


def _stated(**flags: Any) -> dict[str, Any]:
    """The flags that were given."""
    return {name: value for name, value in flags.items() if value is not None}


def _print(rows: list[dict[str, Any]], *, as_json: bool) -> None:
    from app.console import out_console, print_json

    if as_json:
        print_json({"rows": rows})
        return
    from app.tables.memory import memory_blocks

    console = out_console()
    for block in memory_blocks(rows, console.width):
        console.print(block)
