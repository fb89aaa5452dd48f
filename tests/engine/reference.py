"""A decoder written out plainly: no cache, no paging, one sequence, every position computed anew."""

import torch

from engine.weights import Weights


def plain_logits(weights: Weights, tokens) -> torch.Tensor:
    """[tokens, vocabulary]"""
    return norm(plain_hidden(weights, tokens), weights.final_norm, weights.architecture.norm_eps) @ weights.head.T


def plain_hidden(weights, tokens):
    """[tokens, hidden]"""
    x = weights.embedding[torch.tensor(tokens)]
    for layer in weights.layers:
        x = through(weights, layer, x)
    return x


def through(weights, layer, x):
    eps = weights.architecture.norm_eps
    x = x + attention(weights, layer, norm(x, layer.attention_norm, eps))
    return x + mlp(weights, layer, norm(x, layer.mlp_norm, eps))


def plain_head_tokens(head, target, tokens, count):
    """What a head drafts greedily behind tokens."""
    return plain_head(head, target, tokens, count)[0]


def plain_head(head, target, tokens, count):
    """Tokens, and the states that they come from: the target's states go in as far as they go, then the head's own."""
    eps, tokens = head.architecture.norm_eps, list(tokens)
    states, drafted, given = plain_hidden(target, tokens[:-1]), [], []
    for _ in range(count):
        embedded = target.embedding[torch.tensor(tokens[1:])]
        joined = torch.cat((norm(states, head.hidden_norm, eps), norm(embedded, head.embedding_norm, eps)), 1)
        last = through(head, head.layer, joined @ head.fuse.T)[-1:]
        output = target.head if head.output is None else head.output
        best = int((norm(last, head.final_norm, eps) @ output.T).argmax())
        drafted.append(best if head.vocabulary is None else int(head.vocabulary[best]))
        given.append(last[0])
        tokens.append(drafted[-1])
        states = torch.cat((states, last))
    return drafted, given


def mlp(weights, layer, x):
    m = weights.architecture.mixture
    if layer.mixture is None:
        return swiglu(x, layer.gate_up, layer.down)
    gates = (
        torch.ones(len(x), 1) if layer.mixture.shared_gate is None else torch.sigmoid(x @ layer.mixture.shared_gate.T)
    )
    return swiglu(x, layer.gate_up, layer.down) * gates + torch.stack([routed(layer.mixture, m, row) for row in x])


def routed(weights, m, row):
    """One row through its experts, one after the other."""
    chances = torch.softmax(weights.router @ row, 0)
    chosen = sorted(range(m.num_experts), key=lambda e: -float(chances[e]))[: m.top_k]
    total = sum(chances[e] for e in chosen) if m.normalised else 1.0
    return sum(chances[e] / total * swiglu(row, weights.gate_up[e], weights.down[e]) for e in chosen)


def swiglu(x, gate_up, down):
    gate, up = (x @ gate_up.T).chunk(2, -1)
    return (gate * torch.sigmoid(gate) * up) @ down.T


def norm(x, weight, eps):
    return x / torch.sqrt((x**2).mean(-1, keepdim=True) + eps) * weight


def attention(weights, layer, x):
    a = weights.architecture
    qkv = x @ layer.qkv.T + (0 if layer.qkv_bias is None else layer.qkv_bias)
    heads = qkv.view(len(x), -1, a.head_dim)
    q, k, v = heads.split([a.num_heads, a.num_kv_heads, a.num_kv_heads], 1)
    if layer.query_norm is not None:
        q, k = norm(q, layer.query_norm, a.norm_eps), norm(k, layer.key_norm, a.norm_eps)
    q, k = turn(q, a), turn(k, a)
    outputs = []
    for head in range(a.num_heads):
        group = head // (a.num_heads // a.num_kv_heads)
        scores = q[:, head] @ k[:, group].T / a.head_dim**0.5
        scores = scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), -torch.inf)
        outputs.append(scores.softmax(-1) @ v[:, group])
    return torch.cat(outputs, -1) @ layer.out.T


def turn(x, a):
    """Dimension i with i + head_dim / 2, as complex numbers."""
    half = a.head_dim // 2
    angles = torch.arange(len(x), dtype=x.dtype)[:, None] * a.rope_theta ** (
        -2 * torch.arange(half, dtype=x.dtype) / a.head_dim
    )
    turned = torch.complex(x[..., :half], x[..., half:]) * torch.polar(torch.ones_like(angles), angles)[:, None]
    return torch.cat((turned.real, turned.imag), -1)
