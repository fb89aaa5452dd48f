"""Rows of measured speculation, for tests."""

from calibration.accepted_lengths import published
from calibration.speculation_csv import read_speculation
from calibration.speculation_rows import case_of

HEADER = (
    "row_id,framework,gpu,target,draft,method,batch_or_conc,dataset,draft_len,topk,mean_accept_len,"
    "accept_len_incl_bonus,speedup,base_value,spec_value,unit,source,notes"
)
CHAIN = (
    "chain,SGLang,H200,Llama-3.1-8B-Instruct,EAGLE3-A,EAGLE-3 chain,1,gpqa,5,1,3.4,1,2.3,190,437,tok/s,SpecBundle,"
    "steps=5 num_draft_tokens=6"
)
TREE = CHAIN.replace("chain,S", "tree,S").replace(
    "EAGLE-3 chain,1,gpqa,5,1,3.4,1,2.3", "EAGLE-3 tree,1,gpqa,6,3,3,1,1.85"
)
LOOKUP = "lookup,vLLM 0.10.1,H100,Llama3.1-8B,n-gram lookup,n-gram,16,GSM8K,3,1,,,1.149,,,x,SpecDecode-Bench,"
LENGTHS = """\
target,method,dataset,draft_len,mean_accept_len_incl_bonus
Llama-3.1-8B,EAGLE,gsm8k,1,1.7
Llama-3.1-8B,EAGLE,gsm8k,3,2.4
Llama-3.1-8B,n-gram,gsm8k,1,1.11
Llama-3.1-8B,n-gram,gsm8k,3,1.16
"""


def written(folder, *lines, lengths=LENGTHS):
    """A file of these rows, with published lengths beside it."""
    (folder / "acceptance_derived.csv").write_text(lengths, encoding="utf-8")
    path = folder / "mine.csv"
    path.write_text("\n".join((HEADER, *lines)) + "\n", encoding="utf-8")
    return path


def cases(folder, *lines):
    """The rows, ready to be predicted; in place of one that cannot be, why."""
    rows = read_speculation(written(folder, *lines))
    known = published(folder)
    return [case_of(row, known) for row in rows]
