"""Compiles the typed core with mypyc while a wheel is built or the tree is installed (docs/performance.md).

What it makes lies in src/redzone/native/, and redzone/twins.py decides at run time whether it is used. Without a
C compiler, or with REDZONE_COMPILED=0, everything is installed as plain Python: slower, with the same verdicts.
Run as a script it compiles for the interpreter that runs it, which then needs mypy and setuptools.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # run as a script
    BuildHookInterface = object  # type: ignore[assignment, misc]

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))  # whoever builds a wheel runs this file from elsewhere

from hatch_finals import with_finals  # noqa: E402

PACKAGE = ROOT / "src" / "redzone"
FOLDERS = ("access", "domains", "engine", "prove", "rules")
# Numpy does their work, or they are asked seldom or when a report is read: nothing to gain.
LEFT = (
    *("concrete_arrays", "concrete_nan", "rough"),
    *("blame", "chain", "lane_places", "last", "pattern", "rounds", "sized"),
)

# Without the types of other packages, which would be followed for a minute, it is the same wherever it is compiled.
CONFIG = """[mypy]
mypy_path = src
no_site_packages = True
ignore_missing_imports = True
follow_imports = silent
disable_error_code = misc, no-any-return, var-annotated
"""

# One library of a hundred files; distutils would compile them one after the other.
SETUP = """
import concurrent.futures, sys
from mypyc.build import mypycify
from setuptools import setup
from distutils.ccompiler import CCompiler  # what setuptools puts in its place

def compile(self, sources, **options):
    with concurrent.futures.ThreadPoolExecutor(int(sys.argv[1])) as pool:
        return [one for made in pool.map(lambda source: plain(self, [source], **options), sources) for one in made]

plain, CCompiler.compile = CCompiler.compile, compile
modules = mypycify(["--config-file=mypy.ini", *sys.argv[2:]], opt_level="2", debug_level="0", multi_file=True,
                   group_name="redzone")
setup(name="redzone", package_dir={"": "src"}, packages=[], ext_modules=modules,
      script_args=["build_ext", "--inplace"])
"""


def sources() -> list[Path]:
    return sorted(
        path
        for folder in FOLDERS
        for path in (PACKAGE / folder).glob("*.py")
        if path.stem != "__init__" and path.stem not in LEFT
    )


def folder() -> Path:
    """Where twins for this interpreter are kept."""
    return PACKAGE / "native" / sysconfig.get_config_var("EXT_SUFFIX").split(".")[1]


def digests() -> dict[str, str]:
    """Every module to compile, with what tells whether its source is still the same."""
    return {
        f"redzone.{path.parent.name}.{path.stem}": hashlib.sha256(path.read_bytes()).hexdigest() for path in sources()
    }


def is_made() -> bool:
    """Whether the twins there are were made from these sources by these very files."""
    kept = [folder() / "twins.json", folder() / "made_by"]
    if not all(path.is_file() for path in kept):
        return False
    return json.loads(kept[0].read_text()) == digests() and kept[1].read_text() == _this()


def _this() -> str:
    both = [ROOT / "hatch_build.py", ROOT / "hatch_finals.py"]
    return hashlib.sha256(b"".join([path.read_bytes() for path in both])).hexdigest()


def compile_twins() -> None:
    """Compile for this interpreter; raises where that cannot be done."""
    suffix, found = sysconfig.get_config_var("EXT_SUFFIX"), digests()  # a source may change while this goes on
    with tempfile.TemporaryDirectory() as work:
        shutil.copytree(PACKAGE, Path(work, "src", "redzone"), ignore=shutil.ignore_patterns("native", "__pycache__"))
        for path in sources():
            copy = Path(work, path.relative_to(ROOT))
            copy.write_text(with_finals(copy.read_text(), frozenset(found)))
        Path(work, "mypy.ini").write_text(CONFIG)
        Path(work, "setup.py").write_text(SETUP)
        # Nobody outside the library calls what is in it.
        flags = {"CFLAGS": os.environ.get("CFLAGS", "") + " -fvisibility=hidden"} if os.name == "posix" else {}
        names = [str(path.relative_to(ROOT)) for path in sources()]
        command = [sys.executable, "setup.py", str(os.cpu_count() or 1), *names]
        subprocess.run(command, cwd=work, check=True, env={**os.environ, **flags})
        made = Path(work, "made")
        made.mkdir()
        for name in found:
            shutil.move(Path(work, "src", *name.split(".")).with_suffix(suffix), made / f"{name}.so")
        shutil.move(Path(work, "src", f"redzone__mypyc{suffix}"), made / "redzone__mypyc.so")
        Path(made, "twins.json").write_text(json.dumps(found, indent=1))
        Path(made, "made_by").write_text(_this())
        shutil.rmtree(folder(), ignore_errors=True)
        shutil.copytree(made, folder())


class Hook(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel" or os.environ.get("REDZONE_COMPILED") == "0":
            return
        try:
            if not is_made():
                compile_twins()
        except Exception as error:
            self.app.display_warning(f"redzone stays plain Python, which is slower: compiling it failed ({error})")
            return
        build_data["artifacts"].append(f"/{folder().relative_to(ROOT)}/*")
        build_data["pure_python"] = False
        build_data["infer_tag"] = True


if __name__ == "__main__" and not is_made():
    compile_twins()
