"""docs/formulas.md names what is there, and leaves no formula out."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SIMULATOR = ROOT / "simulator"
PAGE = (ROOT / "docs" / "formulas.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`([a-z_/]+\.py):(\w+)`", PAGE)))
NOMENCLATURE = PAGE.partition("## Nomenclature")[2].partition("\n## ")[0]


@cache
def definitions(path):
    tree = ast.parse((SIMULATOR / path).read_text(encoding="utf-8"))
    return {
        node.name: ast.get_docstring(node) or ""
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }


@cache
def every_path():
    return sorted(str(file.relative_to(SIMULATOR)) for file in SIMULATOR.rglob("*.py"))


@pytest.mark.parametrize(("path", "name"), NAMED)
def test_every_function_that_is_named_exists(path, name):
    assert name in definitions(path)


def test_every_formula_of_the_code_is_on_the_page():
    formulas = [
        (path, name) for path in every_path() for name, said in definitions(path).items() if ".. math::" in said
    ]

    assert [formula for formula in formulas if formula not in NAMED] == []
    assert len(formulas) > 20


def test_every_name_of_the_nomenclature_is_used_in_the_code():
    names = set(re.findall(r"`(\w+)`", NOMENCLATURE))
    words = {
        word for path in every_path() for word in re.findall(r"\w+", (SIMULATOR / path).read_text(encoding="utf-8"))
    }

    assert sorted(names - words) == []
    assert len(names) > 20


def test_every_formula_says_where_it_comes_from_or_what_it_leaves_out():
    sections = re.findall(r"^\*\*(.+?)\*\*(.*?)(?=^\*\*|^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)

    bare = [
        title for title, text in sections if "Source" not in text and "Leaves out" not in text and "```math" in text
    ]

    assert sections
    assert bare == []


def test_every_link_of_the_page_is_there():
    linked = re.findall(r"\]\((?!https?://)([^)#]+)\)", PAGE)

    assert [path for path in linked if not (ROOT / "docs" / path).exists()] == []
