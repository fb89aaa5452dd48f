"""Tests run beside each other: one thread each."""

import pytest

torch = pytest.importorskip("torch", reason="the check drives the engine, which needs torch")
torch.set_num_threads(1)
