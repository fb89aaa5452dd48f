"""Options that say what the engine drafts with; they have the names of its own flags."""

from typing import Annotated

import typer

DRAFTS = "What drafts"

Draft = Annotated[
    str,
    typer.Option(
        "--draft", metavar="NAME", rich_help_panel=DRAFTS,
        help="lookup, ngram, model, noisy_target, head, moe_subset, or union.",
    ),
]  # fmt: skip
DraftModel = Annotated[
    str | None, typer.Option("--draft-model", metavar="NAME", help="The draft's model, for --draft model.")
]
Epsilon = Annotated[
    float | None, typer.Option("--epsilon", metavar="E", min=0.0, help="Noise of --draft noisy_target.")
]
Of = Annotated[list[str] | None, typer.Option("--of", metavar="DRAFT", help="A draft of a union. Repeatable.")]
Ngram = Annotated[
    list[str] | None,
    typer.Option("--ngram", metavar="TABLE", help="Table of --draft ngram: a domain, a text, a .json. Repeatable."),
]
Router = Annotated[
    str | None, typer.Option("--router", metavar="NAME", help="Which table serves a request: likelihood, or recent.")
]
Tree = Annotated[
    str | None, typer.Option("--tree", metavar="WIDTHS", help="A tree: children of the root, of its nodes: 3,2,1.")
]
Nodes = Annotated[
    str | None, typer.Option("--nodes", metavar="PATHS", help="A tree node by node, by path of children: 0,1,0.0.")
]
DynamicTree = Annotated[
    str | None, typer.Option("--dynamic-tree", metavar="D,K,N", help="The best N nodes by confidence: 4,4,12.")
]
Head = Annotated[
    str | None, typer.Option("--head", metavar="FILE", help="What engine.training.head wrote, for --draft head.")
]
ResidentExperts = Annotated[
    int | None, typer.Option("--resident-experts", metavar="N", min=1, help="Experts of --draft moe_subset.")
]
ActiveExperts = Annotated[
    int | None, typer.Option("--active-experts", metavar="N", min=1, help="Experts of them that a token uses.")
]
DraftProcess = Annotated[
    str | None,
    typer.Option("--draft-process", metavar="PAYLOAD", help="Draft ahead in a process of its own: ids, or probs."),
]
