"""Price files, config.json files and catalogs of the user's own that are wrong."""

import json

from tests.bad_input.cases import Case
from tests.calibration.importers.price_samples import NEBIUS, REGIONS, SLURM
from tests.scenarios.examples import edited, line_of
from tests.simulator.catalog.hub.samples import LLAMA

MODEL = json.dumps(LLAMA)
MAMBA = json.dumps(LLAMA | {"model_type": "mamba2"})
BNB = json.dumps(LLAMA | {"quantization_config": {"quant_method": "bitsandbytes"}})
OWN = "specfleet-catalog"
BY_PATH = edited(("model: llama-3.1-8b", "model: ./mine.json"))
AT_MODEL = f"chat.yaml:{line_of(BY_PATH, 'mine.json')}: deployments.plain.target.model: "
BY_OWN_PRICE = edited(("{catalog: nebius-on-demand}", "{catalog: mine}"))
PRICES = """\
name: mine
provider: me
basis: owned
prices: [{gpu: h200-sxm, usd_per_gpu_hour: 1.5, sku: mine, as_of: "2026-11-30", source: mine}]
sources: {mine: {kind: assumption, ref: a guess, date: 2026-11-30}}
"""


def prices(name: str, text: str, options: str, *parts: str) -> Case:
    """`import prices` of one file."""
    return Case(name, ["import", "prices", "vms.csv", *options.split()], parts, {"vms.csv": text})


def model(name: str, text: str, options: str, *parts: str) -> Case:
    """`import model` of one file."""
    return Case(name, ["import", "model", "config.json", *options.split()], parts, {"config.json": text})


def own(name: str, text: str, *parts: str) -> Case:
    """A run that is priced by a list of the user's own."""
    files = {"chat.yaml": BY_OWN_PRICE, f"{OWN}/prices/mine.yaml": text}
    return Case(name, ["run", "chat.yaml"], [f"{OWN}/prices/mine.yaml", *parts], files)


ENTRIES: list[Case] = [
    prices("prices-of-another-file", "a,b\n1,2\n", "", "vms.csv:1: neither SkyPilot's vms.csv"),
    prices("prices-by-region", REGIONS, "", "h200-sxm has 2 prices", "--region", "--cheapest"),
    prices("prices-of-no-region", NEBIUS, "--region mars", "no price in --region mars", "eu-north1"),
    prices("prices-of-a-cluster", SLURM, "", "vms.csv:2: PricePerVCPU", "--vcpus N"),
    prices("prices-of-no-gpu", NEBIUS, "--gpu h2000", "--gpu: no GPU 'h2000'", "nearest: h200-sxm"),
    prices("prices-half-told", NEBIUS, "--accelerator L40S", "--accelerator", "NAME=GPU"),
    prices("prices-told-wrong", NEBIUS, "--accelerator L40S=l40s", "--accelerator L40S: no GPU 'l40s'", "known:"),
    prices("prices-of-the-package", NEBIUS, "--name nebius-on-demand", "the package has a price list", "--name"),
    prices("prices-without-a-name", NEBIUS, "--name my/prices", "'my/prices'", "letters, digits", "--name"),
    prices("prices-of-a-day", NEBIUS, "--as-of yesterday", "--as-of", "'yesterday'"),
    model("config-not-json", "{", "", "config.json:1: not JSON"),
    model("config-of-an-unknown-type", MAMBA, "", "config.json: model_type", "mamba2", "known: deepseek_v2"),
    model("config-of-an-unknown-format", BNB, "--name mine", "quantization_config: quant_method", "bitsandbytes"),
    model("config-of-the-package", MODEL, "--name llama-3.1-8b", "the package has a model 'llama-3.1-8b'", "--name"),
    Case("config-not-there", ["import", "model", "no.json"], ["no.json: cannot be read: No such file"], {}),
    Case("path-not-there", ["run", "chat.yaml"], [AT_MODEL, "mine.json: cannot be read"], {"chat.yaml": BY_PATH}),
    Case(
        "path-of-an-unknown-type",
        ["estimate", "chat.yaml"],
        [AT_MODEL, "mamba2"],
        {"chat.yaml": BY_PATH, "mine.json": MAMBA},
    ),
    Case(
        "flag-of-no-file", ["memory", "--gpu", "h200-sxm", "--model", "no.json"], ["--model", "no.json: cannot be"], {}
    ),
    own("own-prices-broken", "name: [", "is broken: line 2"),
    own("own-prices-empty", "", "is broken: a mapping of keys is needed"),
    own("own-prices-unknown-key", PRICES + "region: eu\n", "region: unknown key"),
    own("own-prices-of-another-name", PRICES.replace("name: mine\n", "name: other\n"), "name: 'other'", "mine.yaml"),
    Case(
        "own-model-broken",
        ["run", "chat.yaml"],
        [f"{OWN}/models/mine.yaml is broken: hf_id: missing", "and 9 more"],
        {"chat.yaml": edited(("model: llama-3.1-8b", "model: mine")), f"{OWN}/models/mine.yaml": "name: mine\n"},
    ),
    Case(
        "own-catalog-nowhere",
        ["catalog", "models", "mine"],
        [f"{OWN}/models/mine.yaml is broken", "a mapping of keys"],
        {f"{OWN}/models/mine.yaml": "- 1\n"},
    ),
]
