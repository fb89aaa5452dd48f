"""The engine's doctests run, it imports no sibling, and its page names what is there."""

import ast
import doctest
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import engine
from engine.commands.drafting import POLICIES
from engine.drafters import DRAFTERS

ROOT = Path(engine.__file__).parents[1]
MODULES = sorted(
    module.name for module in pkgutil.walk_packages(engine.__path__, "engine.") if not module.name.endswith("__main__")
)


@pytest.mark.parametrize("name", MODULES)
def test_doctests(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_no_module_imports_a_sibling_or_prints():
    siblings = {"simulator", "scenarios", "app", "calibration"}
    for file in (ROOT / "engine").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {name.partition(".")[0] for name in names} & siblings


def test_the_loop_needs_only_torch_and_numpy():
    """The rest of what is installed is kept out; a calibration on a bare device must still run."""
    code = (
        "import sys\n"
        "for name in ('safetensors', 'gguf', 'tokenizers', 'transformers', 'yaml', 'pydantic', 'pandas'):\n"
        "    sys.modules[name] = None\n"
        "import engine.loop, engine.serving, engine.trace, engine.weights, engine.drafters\n"
    )

    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_the_page_names_every_drafter_policy_and_command():
    page = (ROOT / "docs" / "engine.md").read_text(encoding="utf-8")

    assert [name for name in (*DRAFTERS, *POLICIES, "generate", "serve-trace") if f"`{name}`" not in page] == []
    assert "make bench-engine" in page
