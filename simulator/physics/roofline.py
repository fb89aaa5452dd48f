r"""Where verification stops being free: the two places at which a step turns from reading to multiplying.

Bounds from datasheet peaks, to understand a result by. Steps are priced with measured curves, which leave the flat part
earlier.
"""


def ridge_rows(flop_per_s: float, bytes_per_weight: float, bytes_per_s: float) -> float:
    r"""Rows of a step at which its linear layers take as long to multiply as to read [rows].

    .. math:: n^* = F\, e / (2\, BW)

    flop_per_s: dense peak F of the format. [FLOP/s]
    bytes_per_weight: e, scales included. [bytes]
    bytes_per_s: bandwidth BW. [bytes/s]

    Verification of B sequences with γ draft tokens has B (γ + 1) rows.

    >>> round(ridge_rows(1979e12, 1.0, 4.8e12))  # H200, FP8
    206

    Williams, Waterman, Patterson, "Roofline", CACM 2009: 2 FLOPs per weight and row.
    """
    return flop_per_s * bytes_per_weight / (2.0 * bytes_per_s)


def critical_context_tokens(
    parameters: float, draft_tokens: int, kv_bytes_per_token: float, flop_per_s: float, bytes_per_s: float
) -> float:
    r"""Context of each sequence above which verification is bound by reading KV at any batch [tokens].

    .. math:: S^* = 2 P (\gamma + 1)\, BW / (F\, b)

    parameters: P, that a token multiplies with. [parameters]
    draft_tokens: γ verified per sequence. [tokens]
    kv_bytes_per_token: b, over the whole replica. [bytes]
    flop_per_s, bytes_per_s: F and BW of one GPU: their ratio is the replica's. [FLOP/s, bytes/s]

    >>> round(critical_context_tokens(70.6e9, 4, 327_680, 1979e12, 4.8e12), -2)  # Llama-70B, FP8, bf16 KV, H200
    5200.0

    A sequence adds 2 P (γ + 1) FLOPs and b S bytes: equal times at S*. The regime is that of Sadhukhan et al.,
    MagicDec, arXiv:2408.11049. Attention's own FLOPs are left out: not for MLA, whose verification multiplies.
    """
    return 2.0 * parameters * (draft_tokens + 1) * bytes_per_s / (flop_per_s * kv_bytes_per_token)
