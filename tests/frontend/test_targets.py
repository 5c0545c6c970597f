"""What a command-line target names."""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from redzone.frontend.targets import Failed, Target, targets_in

Write = Callable[[str, str], Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*sys.path])

    def put(name: str, source: str) -> Path:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(source))
        return file

    return put


SAYS = """
    import jax, redzone
    from jax import Array
    from jaxtyping import Float, Int

    @redzone.example(redzone.Spec((3,), "float32"))
    @redzone.example(redzone.Spec((4,), "float32"))
    def twice(x): return x

    def annotated(x: Float[Array, "n 3"], i: Int[Array, "n"]): return x[i]

    @jax.jit
    @redzone.example(redzone.Spec((5,), "float32"))
    def jitted(x): return x

    def silent(x): return x

    def nothing(): return 1

    class Model:
        @staticmethod
        def static(x: Float[Array, "n"]): return x
        def method(self, x: Float[Array, "n"]): return x

    model = Model()
    number = 3
    alias = twice
"""


def _names(text: str, *args: str, exclude: tuple[str, ...] = ()) -> list[str]:
    found = list(targets_in(text, args, exclude))
    assert all(isinstance(item, Target) for item in found), found
    return [item.name for item in found]


def _why(text: str, *args: str) -> str:
    (failed,) = targets_in(text, args)
    assert isinstance(failed, Failed)
    return failed.reason


def test_a_file(write: Write) -> None:
    write("says.py", SAYS)
    names = ["twice #1", "twice #2", "annotated", "jitted"]
    assert _names("says.py") == [f"says.py:{name}" for name in names]


def test_a_folder_is_searched_and_only_speaking_files_are_run(write: Write) -> None:
    write("src/a.py", SAYS)
    write("src/b.py", "raise SystemExit('must not be run')")
    write("src/.hidden/c.py", SAYS)
    write("src/old/d.py", SAYS)
    assert len(_names("src")) == 8
    assert len(_names("src", exclude=("old/*",))) == 4
    assert len(_names("src", exclude=("src/old/*",))) == 4


def test_a_file_in_a_package_may_import_its_neighbours(write: Write) -> None:
    write("pack_a/__init__.py", "")
    write("pack_a/shapes.py", "import redzone\nS = redzone.Spec((3,), 'float32')\n")
    code = "import redzone\nfrom .shapes import S\n@redzone.example(S)\ndef f(x): return x\n"
    write("pack_a/code.py", code)
    assert _names("pack_a/code.py") == ["pack_a/code.py:f"]
    assert _names("pack_a") == ["pack_a/code.py:f"]
    assert _names("pack_a.code:f") == ["pack_a.code:f"]
    assert _names("pack_a.code") == ["pack_a.code:f"]


def test_files_of_the_same_name_do_not_meet(write: Write) -> None:
    write("one/same.py", "import redzone\n@redzone.example(1)\ndef f(x): return x\n")
    write("two/same.py", "import redzone\n@redzone.example(1)\ndef g(x): return x\n")
    assert _names("one/same.py") + _names("two/same.py") == ["one/same.py:f", "two/same.py:g"]


def test_one_function(write: Write) -> None:
    write("says.py", SAYS)
    assert _names("says.py:annotated") == ["says.py:annotated"]
    assert _names("says.py:nothing") == ["says.py:nothing"]
    assert _names("says.py:Model.static") == ["says.py:Model.static"]
    assert _names("says.py:model.method") == ["says.py:model.method"]
    (target,) = targets_in("says.py:silent", ["f32[3]", "flag=bool[]"])
    assert isinstance(target, Target)
    assert target.args[0].shape == (3,) and list(target.kwargs) == ["flag"]


def test_arguments_on_the_command_line_win(write: Write) -> None:
    write("says.py", SAYS)
    (target,) = targets_in("says.py:twice", ["f32[7]"])
    assert isinstance(target, Target) and target.args[0].shape == (7,)


@pytest.mark.parametrize(
    ("text", "args", "why"),
    [
        ("says.py:silent", (), r"does not say its shapes: give --arg 'f32\[100\]'"),
        ("says.py:missing", (), r"says\.py has no 'missing'; it has .*twice"),
        ("says.py:Model.gone", (), r"says\.py has no 'Model\.gone'"),
        ("says.py:number", (), r"'number' in says\.py is a int, not a function"),
        ("says.py:Model.method", (), r"is a method and needs its object: name one"),
        ("says.py", ("f32[3]",), r"--arg belongs to one function"),
        ("gone.py", (), r"there is no file gone\.py"),
        ("gone.py:f", (), r"there is no file gone\.py"),
        ("no/such/folder", (), r"there is no file no/such/folder"),
        ("no_such_module:f", (), r"there is no module 'no_such_module'"),
        ("empty", (), r"nothing to check here: no function says its shapes; put @redzone\.example"),
        ("quiet.py", (), r"nothing to check here"),
        ("broken.py", (), r"importing .*broken\.py failed: ZeroDivisionError: division by zero"),
        ("exits.py", (), r"importing .*exits\.py failed: SystemExit: 3 \(guard what a script does"),
        ("lacks.py", (), r"importing .*lacks\.py failed: ModuleNotFoundError: .*'nowhere_at_all'"),
        ("says.py:silent", ("f32",), r"cannot read --arg 'f32'"),
    ],
)
def test_what_cannot_be_checked(write: Write, text: str, args: tuple[str, ...], why: str) -> None:
    write("says.py", SAYS)
    write("quiet.py", "def f(x): return x\n")
    write("broken.py", "1 / 0\n")
    write("exits.py", "raise SystemExit(3)\n")
    write("lacks.py", "import nowhere_at_all\n")
    write("empty/readme.txt", "")
    assert re.search(why, _why(text, *args))


def test_one_bad_file_does_not_hide_the_others(write: Write) -> None:
    write("src/a.py", "import redzone\n1 / 0\n")
    write("src/b.py", SAYS)
    found = list(targets_in("src"))
    assert [type(item).__name__ for item in found] == ["Failed"] + ["Target"] * 4


def test_one_bad_annotation_does_not_hide_the_others(write: Write) -> None:
    write("m.py", SAYS + "\n    def bad(x: Float[Array, '...']): return x\n")
    assert [item.name for item in targets_in("m.py") if isinstance(item, Failed)] == ["m.py:bad"]
