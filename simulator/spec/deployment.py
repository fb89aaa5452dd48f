"""What serves the traffic: GPUs, target, engine policy, speculation, price."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from simulator.spec.base import Count, Flag, Fraction, ModelName, Name, Positive, Spec
from simulator.spec.draft import KvDtype, WeightDtype
from simulator.spec.economics import Economics
from simulator.spec.placement import Dedicated
from simulator.spec.price import AnyPrice
from simulator.spec.speculation import NoSpeculation, Speculation

UnquantisedPart = Literal["attention", "first_and_last_mlp"]


class Target(Spec):
    """The served model and how it is spread over the GPUs of a replica."""

    model: ModelName
    """A model of the catalog, or the path of a Hugging Face config.json."""
    weights: WeightDtype
    kv: KvDtype = "bf16"
    unquantised: tuple[UnquantisedPart, ...] = ()
    """Parts that this checkpoint keeps in bf16 beside embeddings, head, norms and routers."""
    tensor_parallel: Count = 1
    """GPUs over which each layer is split."""
    data_parallel: Count = 1
    """Copies of the attention, each with its own requests and KV; experts are spread over all of them."""
    expert_parallel: Count = 1
    """Groups over which whole experts are spread; the rest of tensor_parallel × data_parallel splits each expert."""

    @model_validator(mode="after")
    def _groups(self) -> Self:
        gpus = self.tensor_parallel * self.data_parallel
        if gpus % self.expert_parallel:
            raise ValueError(f"expert_parallel {self.expert_parallel} does not divide the replica's {gpus} GPUs")
        if self.weights == "bf16" and self.unquantised:
            raise ValueError("weights are bf16: nothing is left to keep unquantised")
        return self

    @property
    def num_gpus(self) -> int:
        """GPUs of one replica."""
        return self.tensor_parallel * self.data_parallel


class BatchWait(Spec):
    """New prompts are held back until enough of them wait (TensorRT-LLM's batch waiting)."""

    steps: Count
    """Steps after which they are let in whatever waits."""
    budget_share: Fraction
    """Share of the token budget at which they are let in at once."""


class Engine(Spec):
    """The serving engine's policy; what is left out takes the policy's default in the catalog."""

    policy: Name
    """An engine policy of the catalog: vllm, trtllm, sglang."""
    max_model_len: Count | None = None
    """Longest prompt plus output of a sequence [tokens]; by default what the model allows."""
    max_num_seqs: Count | None = None
    """Most sequences that run at once in a replica."""
    max_num_batched_tokens: Count | None = None
    """Token budget of a step, shared by verify and prefill tokens."""
    kv_block_tokens: Count | None = None
    """Tokens of a KV block."""
    memory_fraction: Annotated[Fraction, Field(gt=0)] | None = None
    """Share of the CUDA-visible memory that the engine may use."""
    hbm_budget_gb: Positive | None = None
    """Cap on what a GPU may use [10^9 bytes], below the memory fraction."""
    kv_host_gb: Positive | None = None
    """Memory of the host for the target's KV, for each GPU [10^9 bytes]; the share of every sequence's KV that lies
    there stays there, and each step reads it over the link."""
    kv_host_link: Literal["pcie", "internode"] | None = None
    """Link to that memory, with the GPU's own share of it: pcie (default), or internode for that of another node."""
    scheduler: Literal["fcfs", "shortest_prompt", "priority"] = "fcfs"
    """Order of the waiting requests."""
    prefix_cache: Flag | None = None
    """Whether KV of prompts and outputs is kept for later prompts that begin alike."""
    admission: Literal["max_utilisation", "no_eviction"] | None = None
    """max_utilisation: KV blocks are taken as they are needed, and a request may be preempted; no_eviction: the blocks
    of the longest output that a request may ask for are reserved when it is admitted."""
    preemption: Literal["recompute", "swap"] = "recompute"
    """What happens to the KV of a preempted request: computed again, or moved to the host and back."""
    batch_wait: BatchWait | None = None
    """Prompts wait for company while others decode."""
    cuda_graph_max_tokens: Annotated[int, Field(strict=True, ge=0, le=10**9)] | None = None
    """Steps with more rows than this run without CUDA graphs."""

    @model_validator(mode="after")
    def _host_has_memory(self) -> Self:
        if self.kv_host_link is not None and self.kv_host_gb is None:
            raise ValueError("kv_host_link leads to no memory: give kv_host_gb, or leave it out")
        return self


class Router(Spec):
    """How requests are shared out over replicas."""

    kind: Literal["round_robin", "least_outstanding_tokens", "power_of_two_choices", "prefix_aware"] = (
        "least_outstanding_tokens"
    )


class Deployment(Spec):
    """One way to serve the workload."""

    gpu: Name
    """A GPU of the catalog."""
    replicas: Annotated[Count, Field(le=10_000)]
    """Instances of the target."""
    router: Router = Router()
    price: AnyPrice
    """USD per GPU-hour as a plain value, with its source, or from a price list of the catalog."""
    target: Target
    engine: Engine
    speculation: Speculation = NoSpeculation(kind="none")
    economics: Economics | None = None
    """What its drafts cost to make: `run` and `estimate` say when it has paid back at the load."""

    @model_validator(mode="after")
    def _draft_to_pay_for(self) -> Self:
        if self.economics is not None and self.speculation.kind == "none":
            raise ValueError("economics is the cost of drafts, and this deployment has none: leave it out")
        return self

    @model_validator(mode="after")
    def _drafts_fit_the_group(self) -> Self:
        if self.draft_pool is not None:
            self._pool_fits(self.draft_pool)
            return self
        for name, draft in self.speculation.drafts.items():
            if draft.tensor_parallel > self.target.tensor_parallel:
                raise ValueError(
                    f"draft {name}: the draft's tensor_parallel {draft.tensor_parallel} is above the target's "
                    f"{self.target.tensor_parallel}: a co-located draft runs on the target's GPUs"
                )
        return self

    def _pool_fits(self, pool: Dedicated) -> None:
        if pool.shared_by > self.replicas:
            raise ValueError(
                f"placement.shared_by {pool.shared_by}: there are {self.replicas} replicas to share draft GPUs"
            )
        if pool.price is None and pool.gpu not in (None, self.gpu):
            raise ValueError(f"placement.gpu {pool.gpu} is not the deployment's {self.gpu}: give placement.price")

    @property
    def draft_pool(self) -> Dedicated | None:
        """The drafts' own GPUs; None: they run on the target's, or there are none."""
        speculation = self.speculation
        if speculation.kind == "none" or speculation.placement.kind == "colocated":
            return None
        return speculation.placement

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the target and of the drafts that have one."""
        return (self.target.model, *(draft.model for draft in self.speculation.drafts.values() if draft.model))

    @property
    def draft_gpu(self) -> str:
        """GPU type on which drafts run."""
        return (self.draft_pool and self.draft_pool.gpu) or self.gpu

    @property
    def draft_price(self) -> AnyPrice:
        """Price of the GPUs on which drafts run: a pool's own, else the deployment's."""
        own = None if self.draft_pool is None else self.draft_pool.price
        return self.price if own is None else own

    def draft_gpus(self, replicas: int) -> int:
        """GPUs of the draft pools of so many replicas."""
        return self.draft_pool.pools(replicas) * self.draft_pool.gpus if self.draft_pool is not None else 0

    @property
    def num_gpus(self) -> int:
        """All GPUs that the deployment pays for, those of draft pools included."""
        return self.replicas * self.target.num_gpus + self.draft_gpus(self.replicas)
