"""The target's KV in two tiers: what each position takes on the link to the host.

A fixed share of every sequence's KV lies on the host, as if it were that of whole layers (FlexGen's percentages). Knows
nothing of how large the share is; that is in `ledger`.
"""

from dataclasses import replace

from simulator.catalog.load import load_engine
from simulator.errors import ProfileError
from simulator.physics.forward import Forward, HostKv
from simulator.physics.kv import kv_law
from simulator.physics.ledger import host_share
from simulator.physics.measured import MeasuredForward
from simulator.spec.deployment import Deployment
from simulator.spec.draft import KvDtype


def host_position_s(share: float, kv_bytes: float, bytes_per_s: float) -> float:
    r"""Seconds that the host's part of one position takes on a GPU's link [s].

    .. math:: t = h\, b / BW

    share: of the target's KV that lies on the host, h. [0 to 1]
    kv_bytes: KV of a position on one GPU, b. [bytes]
    bytes_per_s: of the GPU's own share of the link, BW. [bytes/s]

    >>> round(host_position_s(0.5, 131_072, 55e9) * 1e6, 2)  # half of an 8B model's bf16 KV over PCIe 5, in µs
    1.19

    Sheng et al., FlexGen, arXiv:2303.06865, section 4 (percentages of the cache by device); no overlap is taken.
    """
    return share * kv_bytes / bytes_per_s


def with_host_kv(forward: Forward | MeasuredForward, kv: KvDtype, deployment: Deployment) -> Forward | MeasuredForward:
    """The target's passes with the part of their KV that this deployment keeps on the host."""
    engine = deployment.engine
    if engine.kv_host_gb is None:
        return forward
    if isinstance(forward, MeasuredForward):
        raise ProfileError(
            f"engine.kv_host_gb: steps of {forward.model.name} were measured whole, with all KV on the device; leave "
            "it out"
        )
    kv_bytes = kv_law(forward.model, kv, forward.split.tensor_parallel).bytes_per_token
    rate = forward.machine.links.point_to_point[engine.kv_host_link or "pcie"].gb_per_s * 1e9
    budget = engine.max_num_batched_tokens or load_engine(engine.policy).scheduler.max_num_batched_tokens
    return replace(forward, host=HostKv(host_position_s(host_share(deployment), kv_bytes, rate), budget))
