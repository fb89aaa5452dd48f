"""The house rules that no linter knows."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("simulator", "scenarios", "app", "engine", "calibration")
MAX_LINES = 300
README = ROOT / "README.md"
MODULES = sorted(file for package in PACKAGES for file in (ROOT / package).rglob("*.py"))
ALL_FILES = sorted([*MODULES, *(ROOT / "tests").rglob("*.py")])


def shown(file: Path) -> str:
    return str(file.relative_to(ROOT))


def listed_paths(readme: str) -> set[str]:
    """Paths in the first code block of a README that holds a tree: one entry a line, two spaces a level."""
    blocks = readme.split("```")[1::2]
    tree = next((block for block in blocks if any(line.startswith("simulator/") for line in block.splitlines())), "")
    above: list[str] = []
    paths = set()
    for line in tree.splitlines()[1:]:
        if line.strip():
            above = above[: (len(line) - len(line.lstrip())) // 2]
            above.append(line.split()[0].rstrip("/"))
            paths.add("/".join(above))
    return paths


def test_no_module_is_longer_than_three_hundred_lines():
    lengths = {shown(file): len(file.read_text(encoding="utf-8").splitlines()) for file in ALL_FILES}

    assert {name: lines for name, lines in lengths.items() if lines > MAX_LINES} == {}


def test_every_module_says_what_it_is():
    silent = [shown(file) for file in MODULES if not ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))]

    assert silent == []


def test_every_package_is_one():
    folders = {file.parent for file in MODULES}

    assert [shown(folder) for folder in folders if not (folder / "__init__.py").exists()] == []


def test_a_tree_is_read_as_it_is_drawn():
    readme = "# x\n```\nmake demo\n```\n```\nsimulator/     what\n  spec/   chosen\n  run.py  entry\nREADME.md\n```\n"

    assert listed_paths(readme) == {"simulator", "simulator/spec", "simulator/run.py", "README.md"}


@pytest.mark.skipif(not README.exists(), reason="README.md is not written yet")
def test_the_readme_draws_the_tree_that_is_there():
    listed = listed_paths(README.read_text(encoding="utf-8"))
    folders = {name for name in (*PACKAGES, "tests", "docs") if (ROOT / name).is_dir()}
    folders |= {f"simulator/{path.parent.name}" for path in (ROOT / "simulator").glob("*/__init__.py")}

    assert sorted(path for path in listed if not (ROOT / path).exists()) == []
    assert sorted(folders - listed) == []


@pytest.mark.skipif(not (ROOT / "app" / "main.py").exists(), reason="app/main.py is not written yet")
def test_the_command_line_starts_without_the_heavy_packages():
    heavy = ("pandas", "pyarrow", "streamlit", "plotly", "torch", "distributed")
    code = f"import sys, app.main; print(*[name for name in {heavy} if name in sys.modules])"

    out = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout

    assert out.strip() == ""


def test_the_recipes_that_the_readme_and_ci_name_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")

    targets = {line.partition(":")[0] for line in makefile.splitlines() if ":" in line and line[:1].isalpha()}

    assert {"help", "demo", "test", "check", "check-static", "bench", "schema"} <= targets
