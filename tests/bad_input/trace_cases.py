"""Traces that are wrong: each format, each kind of mistake."""

import gzip

from tests.bad_input.cases import Case, trace

AZURE = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,100,10\n"
BURST = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,ChatGPT,47,18,65,Conversation log\n"
MOONCAKE = '{"timestamp": 0, "input_length": 600, "output_length": 50, "hash_ids": [1, 2]}\n'
PLAIN = '{"arrival_s": 0, "prompt_tokens": 600, "output_tokens": 50}\n'
NEXT = "2023-11-16 18:17:04.9799600"

FILES = [
    trace("empty", "", "the trace is empty"),
    trace("only-a-header", AZURE.splitlines()[0], "the trace holds no request"),
    trace("a-folder", None, "'trace.csv': a folder; name the trace in it"),
    trace("gzip", gzip.compress(AZURE.encode()), "not UTF-8 text at byte 1", "unpack it"),
    trace("utf-16", AZURE.encode("utf-16"), "not UTF-8 text at byte 0", "CSV or JSON lines"),
    trace("latin-1", AZURE.encode() + b"caf\xe9,1,1\n", "not UTF-8 text at byte 78"),
    trace(
        "header-unknown", "time,in,out\n1,2,3\n", "trace.csv:1", "'time,in,out'", "CSV with TIMESTAMP, ContextTokens"
    ),
    trace(
        "keys-unknown", '{"t": 0}\n', "trace.csv:1", "the first row has t", "JSON lines with arrival_s, prompt_tokens"
    ),
    trace("a-scenario", "schema_version: 1\n", "the header is 'schema_version: 1'", "known: CSV with"),
    trace(
        "semicolons", AZURE.replace(",", ";"), "the header is 'TIMESTAMP;ContextTokens;GeneratedTokens'", "known: CSV"
    ),
    trace("a-json-list", f"[{PLAIN.strip()}]\n", "trace.csv:1", "not a trace of a known format"),
]

ROWS = [
    trace("azure-time", f"{AZURE}yesterday,1,1\n", "trace.csv:3", "'yesterday'", "a time such as 2023-11-16 18:17:03"),
    trace("azure-short-row", f"{AZURE}{NEXT},1\n", "trace.csv:3", "2 fields, but the header names 3", "mend the row"),
    trace("azure-negative", f"{AZURE}{NEXT},-5,1\n", "trace.csv:3", "-5 prompt tokens", "at least 1"),
    trace("azure-half-a-token", f"{AZURE}{NEXT},5.5,1\n", "trace.csv:3", "'5.5'", "a whole number is needed"),
    trace("burst-time", f"{BURST}x,ChatGPT,4,1,5,API log\n", "trace.csv:3", "'x'", "a number of seconds is needed"),
    trace("burst-nan", f"{BURST}nan,ChatGPT,4,1,5,API log\n", "trace.csv:3", "time nan", "a finite number"),
    trace("burst-all-failed", BURST.replace(",18,", ",0,"), "holds no request", "got no answer"),
    trace(
        "mooncake-half-a-row", f'{MOONCAKE}{{"timestamp": 0,\n', "trace.csv:2", "not JSON", "one whole object on each"
    ),
    trace(
        "mooncake-key",
        f'{MOONCAKE}{{"timestamp": 0, "input_length": 6}}\n',
        "trace.csv:2",
        "'output_length' is missing",
    ),
    trace("mooncake-quoted", MOONCAKE.replace("600", '"600"'), "trace.csv:1", '"600"', "a whole number is needed"),
    trace("mooncake-blocks", MOONCAKE.replace("[1, 2]", "[1, 2, 3]"), "3 block ids", "drop the ids beyond"),
    trace("plain-key", PLAIN.replace("}", ', "clas": "x"}'), "unknown key 'clas'; nearest: class; known: arrival_s"),
    trace("plain-class", PLAIN.replace("}", ', "class": "poem"}'), "class 'poem'", "add it to workload.classes"),
    trace("plain-zero", PLAIN.replace("50", "0"), "trace.csv:1", "0 output tokens", "at least 1"),
    trace("plain-blocks", PLAIN.replace("}", ', "blocks": [1]}'), "blocks without their size", "add block_tokens"),
    trace("plain-list", f"{PLAIN}[1, 2]\n", "trace.csv:2", "'[1, 2]'", "an object in braces"),
]


def looked_at(case: Case) -> Case:
    """The same trace, met by `specfleet import trace`."""
    file = next(name for name in case.files if name != "chat.yaml")
    parts = [part for part in case.parts[1:] if "workload" not in part]
    return case._replace(id=f"import-{case.id}", command=["import", "trace", file], parts=[file, *parts])


TRACES = [*FILES, *ROWS, *(looked_at(case) for case in (FILES[0], FILES[3], FILES[6], ROWS[0], ROWS[7], ROWS[11]))]
