"""A device that follows a known law: measurements as the measuring run would have written them."""

import numpy as np

from calibration.measuring.points import Bounds, points, reference_points

BOUNDS = Bounds(max_num_seqs=16, max_num_batched_tokens=512, max_model_len=2048, cache_tokens=8192)
GAP_S = 40e-6
ARCHITECTURE = {
    "num_layers": 30, "hidden_size": 576, "intermediate_size": 1536, "num_heads": 9, "num_kv_heads": 3, "head_dim": 64,
    "vocab_size": 49152, "max_position": 8192, "tie_word_embeddings": True,
}  # fmt: skip


def head_s(rows):
    return 4e-3 + 0.3e-3 * rows


def law(n, verify, context, prompts, tokens, pairs, k, *, drafted):
    """Seconds by cause of a step."""
    rows = verify + tokens
    layers = np.interp(rows, (0, 4, 64, 128, 512), (0.030, 0.030, 0.090, 0.220, 1.000))
    queries = k + 1
    return np.array(
        [
            layers + head_s(verify + prompts),
            n * (1.0e-3 + 0.1e-3 * queries) + context * (2e-6 + 0.4e-6 * queries) if n else 0.0,
            tokens * 20e-6 + pairs * 30e-9,
            0.1e-3 + 30e-6 * (verify + prompts),
            0.3e-3 + 50e-6 * n + 3e-6 * rows,
            (n * (10e-6 + 4e-6 * k) + tokens * 1e-6) * drafted,
        ]
    )


def shape(point):
    n, k = point.sequences, point.draft_tokens
    tokens = min(point.prompts * point.prompt_tokens, BOUNDS.max_num_batched_tokens - n * (k + 1))
    pairs = tokens * (tokens / max(point.prompts, 1) + 1) / 2
    return [n, n * (k + 1), float(n * point.context), point.prompts, tokens, pairs, k]


def measurements(noise=0.0, outliers=0.0, visits=4, seed=1, load=0.1, drafted=(False, True)):
    """What a run leaves behind; outliers: share of steps that took three times as long."""
    rng = np.random.default_rng(seed)
    everything = [p for d in drafted for p in points(d, BOUNDS, quick=True)]
    references = [p for d in drafted for p in reference_points(d, BOUNDS)]
    found = {}
    named = [*((p.key, p) for p in everything), *((f"reference-{p.key}", p) for p in references)]
    for key, point in named:
        seconds = law(*shape(point), drafted=point.drafted)
        found[key] = [
            [
                [*shape(point), *(seconds * rng.normal(1.0, noise) * (3.0 if rng.random() < outliers else 1.0)), GAP_S]
                for _ in range(3)
            ]
            for _ in range(visits)
        ]
    return {
        "format": 1, "quick": True, "visits": found, "references": [f"reference-{p.key}" for p in references],
        "device": {"kind": "cpu", "name": "Test CPU @ 2.00GHz", "cores": 2, "threads": 2, "backend": "onednn",
                   "torch": "2.13.0+cpu", "memory_bytes": 24_000_000_000},
        "model": {"name": "smollm2-135m", "dtype": "fp32", "architecture": ARCHITECTURE},
        "options": {"kv_blocks": 512, "block_tokens": 16, "max_model_len": 2048, "max_num_seqs": 16,
                    "max_num_batched_tokens": 512, "draft": "lookup", "clock": "wall"},
        "loads": [{"load_average": load, "clock_mhz": None}],
        "kernels": {
            "copy_bytes_per_s": 20e9, "launch_s": 2e-6, "gemm_flop_per_s": {"float32": 1e11, "bfloat16": 5e10},
            "linear": [[49152, 576, rows, head_s(rows)] for rows in (1, 8, 64, 256)]
            + [[o, i, r, 4.0 * o * i / 15e9 * (1 + r / 64)] for o, i in ((2048, 4096), (8192, 4096)) for r in (1, 8, 16, 64, 128, 256, 512)]
            + [[16384, 8192, rows, 4.0 * 16384 * 8192 / 15e9] for rows in (1, 8)],
            "decode_attention": [[1, 1, c, 20e-6 + c * 60e-9] for c in (128, 512, 1024)],
            "prefill_attention": [[t, t * t * 1e-9] for t in (64, 256, 1024)],
            "sampling": [[1, 30e-6], [16, 400e-6]],
        },
    }  # fmt: skip
