"""The package itself: its public names, what importing it costs, and what it may import."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import redzone

SOURCE = Path(redzone.__file__).parent
PROJECT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", redzone.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(redzone, name) is not None
    assert name in dir(redzone)


def test_an_unknown_name() -> None:
    with pytest.raises(AttributeError, match=r"module 'redzone' has no attribute 'chek'"):
        redzone.chek  # noqa: B018


def test_importing_redzone_loads_nothing_heavy() -> None:
    program = (
        "import sys, redzone\n"
        "redzone.example\n"
        "heavy = {'jax', 'numpy', 'rich', 'click', 'islpy', 'jinja2', 'IPython', 'redzone.engine', 'redzone.api'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_version_is_said_once() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    assert project["version"] == redzone.__version__
    assert f"## {redzone.__version__}" in (PROJECT / "CHANGELOG.md").read_text()


def _imports(file: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


FILES = sorted(SOURCE.rglob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=[str(f.relative_to(SOURCE)) for f in FILES])
def test_only_compat_looks_inside_jax(file: Path) -> None:
    private = {name for name in _imports(file) if name.startswith(("jax._src", "jaxlib"))}
    assert not private or file == SOURCE / "frontend" / "compat.py"


def test_the_domains_know_nothing_of_jax() -> None:
    for file in (SOURCE / "domains").rglob("*.py"):
        assert not {name for name in _imports(file) if name.split(".")[0] == "jax"}, file


def test_jaxtyping_is_never_imported() -> None:
    for file in FILES:
        assert not {name for name in _imports(file) if name.split(".")[0] == "jaxtyping"}, file


# From the bottom up; a package may import from its own layer and those below it.
LAYERS = (
    ("domains", "report", "stages"),
    ("frontend",),
    ("access", "rules"),
    ("engine",),
    ("prove",),
    ("explain",),
    ("api",),
    ("runtime",),
    ("cli", "commands", "notebook", "pytest_plugin", "__init__", "__main__"),
)
LAYER = {name: height for height, names in enumerate(LAYERS) for name in names}


@pytest.mark.parametrize("file", FILES, ids=[str(f.relative_to(SOURCE)) for f in FILES])
def test_imports_run_one_way(file: Path) -> None:
    own = file.relative_to(SOURCE).parts[0].removesuffix(".py")
    for name in _imports(file):
        package, _, rest = name.partition(".")
        other = rest.split(".")[0]
        if package == "redzone" and other in LAYER:
            assert LAYER[other] <= LAYER[own], f"{own} imports {name}"
