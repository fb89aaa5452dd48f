"""The figures of an article about speculative decoding, each beside what this model's formulas and catalog give.

A claim is a function that says `Claim N.`, in the module of its topic: `speed` (acceptance and speed-up), `memory`,
`experts` (drafts from a part of a mixture), `cluster` (links, GPUs, money). `ideal` and `systems` hold what they share.
"""
