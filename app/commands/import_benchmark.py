"""`specfleet import benchmark`: results of benchmarks as rows for `specfleet validate`."""

from pathlib import Path
from typing import Annotated

import typer

from app.new_file import write_new
from app.options import Debug, Json, Overwrite

Results = Annotated[
    list[Path], typer.Argument(metavar="FILE…", help="vLLM bench serve JSON, AIPerf or GuideLLM results.")
]
Out = Annotated[Path | None, typer.Option("--out", metavar="FILE.csv", help="Write the rows to this file.")]
Gpu = Annotated[str | None, typer.Option("--gpu", metavar="NAME", help="GPU of the catalog that it ran on.")]
Model = Annotated[str | None, typer.Option("--model", metavar="NAME", help="Model of the catalog that was served.")]
Engine = Annotated[str | None, typer.Option("--engine", metavar="NAME", help="vllm, trtllm, sglang.")]
Precision = Annotated[str | None, typer.Option("--precision", metavar="NAME", help="fp8 or fp4.")]
Tp = Annotated[int | None, typer.Option("--tp", metavar="N", min=1, help="Tensor parallelism.")]
Pp = Annotated[int | None, typer.Option("--pp", metavar="N", min=1, help="Pipeline parallelism.")]
Dp = Annotated[int | None, typer.Option("--dp", metavar="N", min=1, help="Data parallelism of the attention.")]
MoeTp = Annotated[int | None, typer.Option("--moe-tp", metavar="N", min=1, help="Tensor parallelism of the experts.")]
MoeEp = Annotated[int | None, typer.Option("--moe-ep", metavar="N", min=1, help="Expert parallelism.")]
Isl = Annotated[int | None, typer.Option("--isl", metavar="N", min=1, help="Prompt tokens, mean.")]
Osl = Annotated[int | None, typer.Option("--osl", metavar="N", min=1, help="Output tokens, mean.")]
Concurrency = Annotated[
    int | None, typer.Option("--concurrency", metavar="N", min=1, help="Requests in flight, where the file is silent.")
]


def benchmark(
    files: Results,
    out: Out = None,
    gpu: Gpu = None,
    model: Model = None,
    engine: Engine = None,
    precision: Precision = None,
    tp: Tp = None,
    pp: Pp = None,
    dp: Dp = None,
    moe_tp: MoeTp = None,
    moe_ep: MoeEp = None,
    isl: Isl = None,
    osl: Osl = None,
    concurrency: Concurrency = None,
    force: Overwrite = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Turn results of a benchmark into rows that `specfleet validate` compares with predictions.

    Options state what the files do not hold; they go before what the files say, and for all rows alike.

    \b
    Examples:
      specfleet import benchmark c16.json c64.json --gpu h200-sxm --model llama-3.3-70b --precision fp8 --tp 2 \\
          --out rows.csv
      specfleet validate rows.csv
    """
    from app.console import print_json
    from calibration.importers.measurements import csv_text, read_benchmarks

    stated = {
        "gpu": gpu, "model": model, "engine": engine, "precision": precision, "tp": tp, "pp": pp, "dp": dp,
        "moe_tp": moe_tp, "moe_ep": moe_ep, "isl": isl, "osl": osl, "concurrency": concurrency,
    }  # fmt: skip
    rows = read_benchmarks(files, stated)
    text = csv_text(rows)
    written = None if out is None else write_new(out, text, force=force)
    if as_json:
        print_json({"rows": rows, "written": written and str(written)})
    elif written is None:
        typer.echo(text, nl=False)
    else:
        typer.echo(f"{written} is written, {len(rows)} rows. Next: specfleet validate {written}")
