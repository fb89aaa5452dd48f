#!/usr/bin/env bash
# The picture of a report: runs the README's scenario and photographs its report with Chromium.
set -euo pipefail
cd "$(dirname "$0")/../.."
out=$(mktemp -d)
.venv/bin/specfleet run h200_vs_b200_chat --out "$out" --quiet
chromium --headless --no-sandbox --disable-gpu --disable-background-networking --hide-scrollbars \
  --window-size=1100,1700 --screenshot="$PWD/docs/pictures/report.png" "file://$(ls -d "$out"/*/)report.html"
