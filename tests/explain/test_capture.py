"""Reading captures: both formats, whole folders, and files that are none."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from pathlib import Path

import pytest

from redzone.explain.capture import BadCapture, captures_in, read
from redzone.explain.names import Kind
from tests.explain.captures import CPU, MLP, host, kernel, written


def test_both_formats_hold_the_same_launches() -> None:
    proto, viewer = read(MLP / "host.xplane.pb"), read(MLP / "host.trace.json.gz")
    assert [(one.name, one.kind, one.bytes, one.threads) for one in proto.launches] == [
        (one.name, one.kind, one.bytes, one.threads) for one in viewer.launches
    ]
    for a, b in zip(proto.launches, viewer.launches, strict=True):
        assert a.start == pytest.approx(b.start, abs=1e-6)
        assert a.seconds == pytest.approx(b.seconds, abs=1e-8)
    assert proto.seconds == pytest.approx(viewer.seconds, rel=1e-3)


def test_what_only_one_format_says() -> None:
    proto, viewer = read(MLP / "host.xplane.pb"), read(MLP / "host.trace.json.gz")
    assert proto.jax_version == "0.11.2"
    assert proto.card.name == "NVIDIA H200"
    assert proto.card.bandwidth == pytest.approx(4.81e12, rel=0.01)
    assert (viewer.jax_version, viewer.card.name, viewer.card.bandwidth) == ("", "", 0.0)
    assert proto.devices == viewer.devices == ("/device:GPU:0",)


def test_the_kinds_of_launches() -> None:
    count = dict.fromkeys(Kind, 0)
    for one in read(MLP / "host.xplane.pb").launches:
        count[one.kind] += 1
    assert count[Kind.CHECK] == 532
    assert count[Kind.DELAY] == 78
    assert count[Kind.READBACK] == 336
    assert count[Kind.GUARD] == 260
    assert sum(count.values()) == 1738


def test_a_check_has_one_thread_for_each_byte() -> None:
    sizes = {one.threads for one in read(MLP / "host.xplane.pb").launches if one.kind is Kind.CHECK}
    assert 8 << 20 in sizes


def test_a_folder_as_the_profiler_writes_it(tmp_path: Path) -> None:
    older, newer = (tmp_path / "plugins" / "profile" / name for name in ("2026_01_01_00_00_00", "2026_02_01_00_00_00"))
    shutil.copytree(MLP, older)
    shutil.copytree(CPU, newer)
    assert captures_in(tmp_path) == ([newer / "host.xplane.pb"], 1)


def test_every_host_of_a_capture_is_read(tmp_path: Path) -> None:
    for name in ("a", "b"):
        shutil.copy(CPU / "host.xplane.pb", tmp_path / f"{name}.xplane.pb")
        shutil.copy(CPU / "host.trace.json.gz", tmp_path / f"{name}.trace.json.gz")
    assert captures_in(tmp_path) == ([tmp_path / "a.xplane.pb", tmp_path / "b.xplane.pb"], 0)


def test_a_folder_with_only_the_viewers_format(tmp_path: Path) -> None:
    shutil.copy(CPU / "host.trace.json.gz", tmp_path / "a.trace.json.gz")
    shutil.copy(CPU / "host.trace.json.gz", tmp_path / "perfetto_trace.json.gz")
    assert captures_in(tmp_path) == ([tmp_path / "a.trace.json.gz"], 0)


def test_the_viewers_format_unpacked(tmp_path: Path) -> None:
    file = tmp_path / "a.trace.json"
    file.write_bytes(gzip.decompress((MLP / "host.trace.json.gz").read_bytes()))
    assert len(read(file).launches) == 1738


def test_what_the_python_tracer_wrote_is_not_kept(tmp_path: Path) -> None:
    file = written(tmp_path, host("$api.py:12 backend_compile", 0, 9), host("backend_compile", 1, 5))
    assert [span.name for span in read(file).spans] == ["backend_compile"]


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadCapture, match=r"there is no file or folder .*give the folder that jax\.profiler\.trace"):
        captures_in(tmp_path / "nothing")


def test_a_folder_without_captures(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(BadCapture, match=r"holds no capture: no \*\.xplane\.pb .* Record one with"):
        captures_in(tmp_path)


@pytest.mark.parametrize("name", ["a.xplane.pb", "a.trace.json.gz"])
def test_an_empty_file(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    with pytest.raises(BadCapture, match="is empty: the capture was not finished"):
        read(tmp_path / name)


def test_a_damaged_proto(tmp_path: Path) -> None:
    file = tmp_path / "a.xplane.pb"
    file.write_bytes(b"this is no capture at all, only words" * 40)
    with pytest.raises(BadCapture, match=r"no capture of JAX's profiler, or a damaged one"):
        read(file)


def test_a_proto_cut_short(tmp_path: Path) -> None:
    file = tmp_path / "a.xplane.pb"
    file.write_bytes((MLP / "host.xplane.pb").read_bytes()[:100_001])
    with pytest.raises(BadCapture, match="damaged"):
        read(file)


def test_a_zip_cut_short(tmp_path: Path) -> None:
    file = tmp_path / "a.trace.json.gz"
    file.write_bytes((MLP / "host.trace.json.gz").read_bytes()[:9000])
    with pytest.raises(BadCapture, match="cut short or damaged"):
        read(file)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"{", "is not JSON"),
        (b"[1, 2]", None),
        (b'{"a": 1}', "no list `traceEvents`"),
        (b'"words"', "no list `traceEvents`"),
        (b'{"traceEvents": [{"ph": "X", "name": "k"}]}', "the event 'k' has no time"),
        (b"\xff\xfe\x00", "is not JSON"),
    ],
)
def test_json_that_is_no_trace(tmp_path: Path, content: bytes, says: str | None) -> None:
    file = tmp_path / "a.trace.json"
    file.write_bytes(content)
    if says is None:
        assert read(file).launches == []
    else:
        with pytest.raises(BadCapture, match=says):
            read(file)


def test_a_file_of_another_kind(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    with pytest.raises(BadCapture, match=r"neither \*\.xplane\.pb nor \*\.trace\.json\.gz"):
        read(tmp_path / "a.txt")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_nobody_may_read(tmp_path: Path) -> None:
    file = written(tmp_path, kernel("k", 0, 1))
    file.chmod(0)
    with pytest.raises(BadCapture, match="Permission denied"):
        read(file)


def test_a_list_of_events_alone_is_a_trace_too(tmp_path: Path) -> None:
    file = tmp_path / "perfetto_trace.json.gz"
    events = json.loads(gzip.decompress((MLP / "host.trace.json.gz").read_bytes()))["traceEvents"]
    file.write_bytes(gzip.compress(json.dumps(events).encode()))
    assert len(read(file).launches) == 1738
