import pytest

from simulator.cluster.traces import read_trace
from simulator.errors import ScenarioError

AZURE = "TIMESTAMP,ContextTokens,GeneratedTokens\n2026-03-02 09:00:00.0000000,100,10\n"
BURST = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,ChatGPT,100,10,110,API log\n"
MOON = '{"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [0, 1]}\n'
OWN = '{"arrival_s": 0, "prompt_tokens": 100, "output_tokens": 5}\n'


def moon(**changes: str) -> str:
    values = {"timestamp": "0", "input_length": "600", "output_length": "5", "hash_ids": "[0, 1]"} | changes
    return "{" + ", ".join(f'"{key}": {value}' for key, value in values.items() if value) + "}\n"


def own(**changes: str) -> str:
    values = {"arrival_s": "0", "prompt_tokens": "100", "output_tokens": "5"} | changes
    return "{" + ", ".join(f'"{key}": {value}' for key, value in values.items() if value) + "}\n"


CASES = [
    # what is no trace
    ("", "t: the trace is empty: it holds no request"),
    ("\n \n", "t: the trace is empty"),
    ("a,b,c\n1,2,3\n", "t:1: not a trace of a known format: the header is 'a,b,c'; known: CSV with TIMESTAMP, "),
    ("TIMESTAMP;ContextTokens;GeneratedTokens\n", "not a trace of a known format: the header is 'TIMESTAMP;"),
    ('{"time": 1, "in": 2}\n', "t:1: not a trace of a known format: the first row has time, in; known: CSV"),
    ("[1, 2]\n", "t:1: not a trace of a known format: the header is '[1, 2]'"),
    (b"\x1f\x8b\x08\x00\x00", "not UTF-8 text at byte 1: unpack it, or export it as CSV or JSON lines"),
    (AZURE.splitlines()[0], "t: the trace holds no request"),
    (BURST + "6,GPT-4,5,x,5,API log\n", "t:3: Response tokens is 'x': a whole number is needed"),
    (BURST.replace(",10,110", ",0,100"), "the trace holds no request; all its 1 requests got no answer"),
    # Azure
    (AZURE + "yesterday,100,10\n", "t:3: TIMESTAMP is 'yesterday': a time such as 2023-11-16 18:17:03.9799600"),
    (AZURE + "2026-03-02 09:00:00.12x,1,1\n", "t:3: TIMESTAMP is '2026-03-02 09:00:00.12x': a time such as"),
    (AZURE + "2026-03-02 09:00:00.1+02:00,1,1\n", "t:3: TIMESTAMP is '2026-03-02 09:00:00.1+02:00'"),
    (AZURE + "2026-03-02 09:00:00+02:00,1,1\n", "t:3: TIMESTAMP is '2026-03-02 09:00:00+02:00'"),
    (AZURE + "2026-03-02 09:00:01.0,1.5,10\n", "t:3: ContextTokens is '1.5': a whole number is needed"),
    (AZURE + "2026-03-02 09:00:01.0,0,10\n", "t:3: 0 prompt tokens: token counts must be at least 1"),
    (AZURE + "2026-03-02 09:00:01.0,10,-3\n", "t:3: -3 output tokens: token counts must be at least 1"),
    (AZURE + "2026-03-02 09:00:01.0,10\n", "t:3: 2 fields, but the header names 3: '2026-03-02 09:00:01.0,10'; mend"),
    (AZURE + "2026-03-02 09:00:01.0,99999999999,5\n", "at most 10^9"),
    # BurstGPT
    (BURST + "soon,GPT-4,5,5,10,API log\n", "t:3: Timestamp is 'soon': a number of seconds is needed"),
    (BURST + "inf,GPT-4,5,5,10,API log\n", "t:3: time inf: a finite number of seconds is needed"),
    # Mooncake
    (MOON + moon(input_length=""), "t:2: 'input_length' is missing: a Mooncake trace has it in every row"),
    (MOON + moon(input_length="12.5"), "t:2: input_length is 12.5: a whole number is needed"),
    (MOON + moon(output_length="true"), "t:2: output_length is true: a whole number is needed"),
    (MOON + moon(timestamp='"noon"'), 't:2: timestamp is "noon": a number is needed'),
    (MOON + moon(timestamp="NaN"), "t:2: time nan: a finite number of seconds is needed"),
    (MOON + moon(hash_ids="[0, 1, 2]"), "t:2: 3 block ids, but 600 prompt tokens fill 2 blocks of 512: drop"),
    (MOON + moon(hash_ids='[0, "a"]'), "t:2: block ids must be a list of whole numbers below 2^63"),
    (MOON + moon(hash_ids="[1.5]"), "t:2: block ids must be a list of whole numbers below 2^63"),
    (MOON + moon(hash_ids="7"), "t:2: hash_ids is 7: a list is needed"),
    (MOON + "{half a row\n", "t:2: not JSON: '{half a row'; write one whole object on each line"),
    (MOON + "3\n", "t:2: '3': an object in braces is needed on each line"),
    # our own
    (OWN + own(output_tokens="", ouput_tokens="5"), "t:2: unknown key 'ouput_tokens'; nearest: output_tokens; known:"),
    (OWN + own(prompt_tokens=""), "t:2: 'prompt_tokens' is missing: a specfleet trace has it in every row"),
    (OWN + own(priority='"high"'), 't:2: priority is "high": a whole number is needed'),
    (OWN + own(**{"class": "3"}), "t:2: class is 3: a text is needed"),
    (OWN + own(session="[1]"), "t:2: session is [1]: a text or a whole number is needed"),
    (OWN + own(blocks="[1, 2]"), "t:2: blocks without their size: add block_tokens"),
    (OWN + own(blocks="[1, 2, 3]", block_tokens="64"), "t:2: 3 block ids, but 100 prompt tokens fill 2 blocks of 64"),
    (
        own(blocks="[1]", block_tokens="64") + own(blocks="[1]", block_tokens="32"),
        "t:2: blocks of 32 tokens after blocks of 64: one size a file",
    ),
]


@pytest.mark.parametrize(("text", "message"), CASES)
def test_a_malformed_trace_is_refused_with_place_value_and_way_out(text, message, tmp_path):
    file = tmp_path / "t"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())

    with pytest.raises(ScenarioError) as error:
        read_trace(file)

    assert message in str(error.value)
    assert str(tmp_path) in str(error.value)
    assert "\n" not in str(error.value)


def test_a_trace_that_is_not_there_is_said_so(tmp_path):
    with pytest.raises(ScenarioError, match=r"none\.csv: no such trace"):
        read_trace(tmp_path / "none.csv")


def test_a_folder_is_no_trace(tmp_path):
    with pytest.raises(ScenarioError, match="cannot be read"):
        read_trace(tmp_path)
