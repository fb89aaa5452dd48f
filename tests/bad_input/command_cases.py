"""Command lines that are wrong."""

from tests.bad_input.cases import Case, command

OPTIONS = [
    command("jobs-zero", "run chat.yaml --jobs 0", "'--jobs'", "'0'", "greater than or equal to 1"),
    command("jobs-in-words", "run chat.yaml --jobs=two", "'--jobs'", "'two'", "valid integer"),
    command("executor-misspelt", "run chat.yaml --executor threads", "--executor 'threads'", "dask://HOST:PORT"),
    command("executor-and-jobs", "run chat.yaml --jobs 2 --executor serial", "--jobs 2", "serial", "give one of them"),
    command("prune-of-nothing-said", "runs prune", "--older-than AGE", "--keep N"),
    command("age-in-words", "runs list --newer-than yesterday", "'yesterday'", "write an age", "7d"),
    command("seeds-zero", "run chat.yaml --seeds 0", "'--seeds'", "'0'", "greater than or equal to 1"),
    command("seeds-too-many", "run chat.yaml --seeds 5000", "--set replications", "5000", "less than or equal to 1000"),
    command("option-misspelt", "run chat.yaml --seed 3", "No such option: --seed", "--seeds"),
    command("option-of-another-command", "estimate chat.yaml --out x", "No such option: --out"),
    command("option-without-value", "run chat.yaml --out", "'--out' requires an argument"),
    command("command-misspelt", "runn chat.yaml", "No such command 'runn'", "Did you mean 'run'"),
    command("no-file-named", "run", "Missing argument 'FILE'"),
]

SETS = [
    command("set-without-value", "run chat.yaml --set seed", "--set seed", "write --set path=YAML"),
    command("set-without-path", "run chat.yaml --set =3", "--set =3", "write --set path=YAML"),
    command(
        "set-of-no-place", "run chat.yaml --set rate=8", "--set rate: no such place", "nearest: workload.arrivals.rate"
    ),
    command("set-of-no-deployment", "run chat.yaml --set deployments.plan.replicas=2", "deployments.plain.replicas"),
    command("set-to-nothing", "run chat.yaml --set seed=", "--set seed", "null", "nothing stands after the key"),
    command("set-to-a-word", "run chat.yaml --set seed=one", "--set seed", "'one'", "valid integer"),
    command("set-to-half-a-mapping", "run chat.yaml --set slo={ttft_s", "--set slo: not YAML", "'}'"),
    command("set-to-an-object", "run chat.yaml --set seed=!!python/name:os", "tags are refused; write the plain value"),
]

PLACES = [
    command("file-not-there", "run chart.yaml", "chart.yaml: no such file", "nearest: chat.yaml"),
    command("built-in-misspelt", "run saturate", "saturate: no such file and no such built-in", "nearest: saturated"),
    command("folder-without-scenario", "run empty-folder", "empty-folder: no scenario file (*.yaml) in this folder"),
    command("folder-for-a-file", "estimate empty-folder", "empty-folder: a folder; name one of its files"),
    command(
        "out-onto-a-file", "run chat.yaml --out a-file", "a-file/chat-", "Not a directory", "another folder with --out"
    ),
    command("out-below-a-file", "run chat.yaml --out a-file/runs", "a-file/runs/chat-", "another folder with --out"),
    command("out-where-nothing-can-be", "run chat.yaml --out /proc/x", "/proc/x/chat-", "another folder with --out"),
    command("init-onto-a-file", "init chat.yaml", "chat.yaml: is there already", "--force"),
    command("init-below-a-file", "init a-file/x.yaml", "a-file/x.yaml: cannot be written", "name another file"),
    command("trace-not-there", "import trace no.csv", "no.csv: no such trace"),
    command("fit-to-nothing", "import trace a-file --out x.yaml", "--out", "add --fit"),
]

CATALOG = [
    command("catalog-kind-unknown", "catalog foo", "called 'foo'", "known: gpus, links, models"),
    command("entry-nearly", "catalog h200", "called 'h200'", "nearest: h200-sxm (gpus)"),
    command("entry-of-a-kind", "catalog gpus a100", "no GPU 'a100' in the catalog", "known: b200-sxm"),
    command("kind-of-an-entry", "catalog foo bar", "'foo'", "known: gpus"),
    command("entry-outside", "catalog models ../gpus/h200-sxm", "no model '../gpus/h200-sxm' in the catalog"),
]

MEMORY = "memory --gpu h200-sxm --model llama-3.1-8b"
FLAGS = [
    command("memory-of-nothing", "memory", "give a scenario file, or --gpu and --model"),
    command("memory-gpu", "memory --gpu h200 --model llama-3.1-8b", "--gpu: no GPU 'h200'", "nearest: h200-sxm"),
    command("memory-split", f"{MEMORY} --tp 3", "--tp: 3 does not divide the 32 attention heads", "try 1, 2, 4"),
    command("memory-format", f"{MEMORY} --weights fp4", "--weights", "'nvfp4'", "not 'fp4'"),
    command("memory-share", f"{MEMORY} --memory-fraction 90", "--memory-fraction", "less than or equal to 1, not 90"),
    command(
        "memory-length", f"{MEMORY} --max-model-len 999999", "--max-model-len: 999,999 is above the 131,072 positions"
    ),
    command("memory-file-and-flag", "memory chat.yaml --tp 2", "a file says all of the deployment: change it by --set"),
    command("memory-set-without-file", f"{MEMORY} --set a=1", "--set", "changes a scenario file: give one"),
]

COMMANDS: list[Case] = [*OPTIONS, *SETS, *PLACES, *CATALOG, *FLAGS]
