#!/usr/bin/env bash
# Checks a prediction on hardware: one replica of h200-spec (scenario h200-vs-b200-chat) on 2 × h200-sxm, vllm.
#
#   ./bench.sh serve     starts the engine; wait until it answers
#   ./bench.sh run       in another terminal: sends 20 requests, writes result.json
#   specfleet validate result.json --against predicted.json
#
# Draft tokens are accepted as often as in the prediction, whatever the draft says (synthetic acceptance): time is
# checked, not the draft's quality, and the text that comes out means nothing.
#
# MODEL, DRAFT and PORT can be set from outside. A gated model needs its access token in the environment, where
# the engine looks for it (HF_TOKEN): no script holds it.
set -euo pipefail
cd "$(dirname "$0")"

case "${1:-}" in
serve | run) ;;
*)
  sed -n '2,/^set /s/^# \{0,1\}//p' "${0##*/}"
  exit 2
  ;;
esac

MODEL="${MODEL:-meta-llama/Llama-3.3-70B-Instruct}"
DRAFT="${DRAFT:-meta-llama/Llama-3.2-1B}"
PORT="${PORT:-8000}"

serve() {
  exec vllm serve "$MODEL" \
    --port "$PORT" \
    --tensor-parallel-size 2 \
    --quantization fp8 \
    --kv-cache-dtype fp8 \
    --max-model-len 8192 \
    --max-num-seqs 256 \
    --max-num-batched-tokens 8192 \
    --block-size 16 \
    --gpu-memory-utilization 0.9 \
    --enable-prefix-caching \
    --speculative-config '{"method": "draft_model", "model": "'"$DRAFT"'", "draft_tensor_parallel_size": 1, "quantization": "fp8", "num_speculative_tokens": 4, "rejection_sample_method": "synthetic", "synthetic_acceptance_rates": [0.7117, 0.5198, 0.3866, 0.2866]}'
}

run() {
  exec vllm bench serve \
    --backend openai \
    --base-url http://127.0.0.1:"$PORT" \
    --model "$MODEL" \
    --dataset-name timed_trace \
    --dataset-path requests.jsonl \
    --timed-trace-chunk-hash-size 512 \
    --timed-trace-sec-multiplier 0.001 \
    --self-timed \
    --num-prompts 20 \
    --no-oversample \
    --disable-shuffle \
    --ignore-eos \
    --percentile-metrics ttft,tpot,itl,e2el \
    --metric-percentiles 50,90,95,99 \
    --save-result \
    --result-filename result.json
}

"$1"
