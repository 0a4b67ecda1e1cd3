"""Timelines in Python: explained, saved, loaded, and on the command line."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import dynaflow
from dynaflow.__main__ import main
from small import Chain, Halves, compiled, rows


def weave(ctx: dynaflow.ScheduleContext) -> None:
    """One micro-batch on each of two lanes."""
    lanes = [ctx.lane("left"), ctx.lane("right")]
    while ctx.unfinished():
        for mb in ctx.microbatches:
            for op in ctx.get_ready_ops(mb):
                ctx.execute(op, lane=lanes[mb.index])


@pytest.fixture
def fast() -> dynaflow.CompiledModule:
    model = compiled(Chain(3), Halves(weave))
    with torch.no_grad():
        model(rows(6))
    return model


@pytest.fixture
def run(fast: dynaflow.CompiledModule) -> dynaflow.Timeline:
    with torch.no_grad():
        return fast.timeline(rows(6))


def test_every_lane_adds_up_to_the_total(run: dynaflow.Timeline) -> None:
    explanation = run.explain()
    assert [lane.name for lane in explanation.lanes] == ["left", "right"]
    for lane in explanation.lanes:
        waited = sum(lane.waited_ns.values())
        assert lane.busy_ns + waited + lane.tail_ns + lane.host_ns == run.total_ns
        assert sum(ns for _, ns in lane.waited_for) == waited
        assert 0 <= lane.queued_ns <= run.total_ns
        assert 0 <= lane.taken_ns <= run.total_ns


def test_the_critical_path_adds_up_to_the_total(run: dynaflow.Timeline) -> None:
    explanation = run.explain()
    assert sum(explanation.path_ns.values()) == explanation.total_ns == run.total_ns
    assert {step.cost for step in explanation.path} <= {"compute", "memory", "network"}
    assert all(step.label in {span[0] for span in run.spans} for step in explanation.path)
    along = sum(step.gap_ns + step.ns for step in explanation.path)
    assert along <= run.total_ns  # the end of the run is host time too


def test_the_bound_is_a_part_of_the_total(run: dynaflow.Timeline) -> None:
    explanation = run.explain()
    assert 0 < explanation.bound_ns <= run.total_ns
    assert explanation.share == pytest.approx(explanation.bound_ns / run.total_ns)
    assert (explanation.network_ns, explanation.exposed_ns) == (0, 0)


def test_the_first_run_of_all_can_be_traced() -> None:
    fast = compiled(Chain(3), Halves(weave))
    with torch.no_grad():
        first, second = fast.timeline(rows(6)), fast.timeline(rows(6))
    assert len(first.spans) == len(second.spans) > 0


def test_a_run_is_explained_in_words(run: dynaflow.Timeline) -> None:
    report = str(run.explain())
    assert report.startswith(f"explanation  2 lanes, {len(run.spans)} steps, ")
    assert all(sentence in report for sentence in run.explain().advice)


def test_explain_tells_of_the_last_traced_run(fast: dynaflow.CompiledModule) -> None:
    assert "critical path" not in fast.explain()
    with torch.no_grad():
        run = fast.timeline(rows(6))
    assert str(run.explain()) in fast.explain()


def test_a_saved_run_is_loaded_as_it_was(run: dynaflow.Timeline, tmp_path: Path) -> None:
    run.save(tmp_path / "run.json")
    loaded = dynaflow.Timeline.load(str(tmp_path / "run.json"))
    assert loaded == run
    assert str(loaded.explain()) == str(run.explain())


def test_the_suffix_says_as_what_a_run_is_saved(run: dynaflow.Timeline, tmp_path: Path) -> None:
    run.save(tmp_path / "run.html")
    assert (tmp_path / "run.html").read_text().startswith("<!doctype html>")
    with pytest.raises(dynaflow.Error, match="T2 bad-file"):
        run.save(tmp_path / "run.txt")


def test_a_file_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(dynaflow.Error, match="T2 bad-file"):
        dynaflow.Timeline.load(tmp_path / "nothing.json")
    (tmp_path / "other.json").write_text(json.dumps({"traceEvents": []}))
    with pytest.raises(dynaflow.Error, match="T1 bad-timeline"):
        dynaflow.Timeline.load(tmp_path / "other.json")


def test_a_page_needs_timelines(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="timelines are given by name"):
        dynaflow.save_html(tmp_path / "page.html", {"run": "no timeline"})  # type: ignore[dict-item]


def test_the_command_line_explains_a_run(
    run: dynaflow.Timeline, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run.save(tmp_path / "run.json")
    assert main(["explain", str(tmp_path / "run.json")]) == 0
    assert capsys.readouterr().out == str(run.explain())


def test_the_command_line_explains_several_runs_by_name(
    run: dynaflow.Timeline, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        run.save(tmp_path / folder / "run.json")
    assert main(["explain", *(str(tmp_path / folder / "run.json") for folder in "ab")]) == 0
    printed = capsys.readouterr().out
    assert f"{tmp_path}/a/run\nexplanation" in printed
    assert f"{tmp_path}/b/run\nexplanation" in printed


def test_the_command_line_explains_a_run_by_its_ranks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sent = {"rank0": (10, 40), "rank1": (530, 540)}  # by clocks that are 500 us apart
    for rank, (begin, end) in sent.items():
        (tmp_path / f"{rank}.json").write_text(trace_of(begin, end))
    assert main(["explain", "--ranks", *(f"{tmp_path}/{rank}.json" for rank in sent)]) == 0
    printed = capsys.readouterr().out
    lines = [line.split() for line in printed.splitlines()]
    assert ["rank0", "30.0", "us", "20.0", "us", "(67", "%)", "0", "ns"] in lines
    assert ["rank1", "10.0", "us", "0", "ns", "(0", "%)", "20.0", "us"] in lines
    assert "sum.0 was awaited longest: 20.0 us until rank1 came" in printed


def trace_of(begin: float, end: float) -> str:
    """A saved run of one transfer."""
    args = {"step": 0, "cost": "network", "microbatches": [0, 1], "waits": []}
    lane = {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "network"}}
    span = {"ph": "X", "name": "sum.0", "pid": 1, "tid": 1, "ts": begin, "dur": end - begin}
    about = {"format": "dynaflow-timeline/1", "total_ns": 1_000_000}
    return json.dumps({"otherData": about, "traceEvents": [lane, span | {"args": args}]})


def test_the_command_line_shows_runs(run: dynaflow.Timeline, tmp_path: Path) -> None:
    for name in ("one", "two"):
        run.save(tmp_path / f"{name}.json")
    page = tmp_path / "page.html"
    assert (
        main(["show", *(f"{tmp_path}/{name}.json" for name in ("one", "two")), "-o", str(page)])
        == 0
    )
    assert "<h2>one</h2>" in page.read_text()
    assert "<h2>two</h2>" in page.read_text()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["explain", "nothing.json"], "it cannot be read: No such file or directory (T2 bad-file)"),
        (["explain", "empty.json"], "it is no JSON (T1 bad-timeline)"),
        (["explain", "--ranks", "run.json"], "no transfer is in all of these timelines"),
        (["show", "empty.json", "-o", "page.html"], "it is no JSON (T1 bad-timeline)"),
        (["show", "run.json", "-o", "nowhere/page.html"], "it cannot be written: No such file"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_status_2(
    arguments: list[str],
    says: str,
    run: dynaflow.Timeline,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty.json").touch()
    run.save("run.json")
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("dynaflow: ")
    assert says in printed.err
    assert printed.err.count("\n") == 1


def test_the_module_is_a_command(run: dynaflow.Timeline, tmp_path: Path) -> None:
    run.save(tmp_path / "run.json")
    done = subprocess.run(
        [sys.executable, "-m", "dynaflow", "explain", tmp_path / "run.json"],
        env={"PYTHONPATH": str(Path(dynaflow.__file__).parents[1])},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == str(run.explain())
