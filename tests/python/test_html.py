"""The page that shows timelines, opened in a browser without a window."""

import json
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import dynaflow

HOSTILE = '</script><img src=x onerror="window.hacked=1">&\'\n'
# (name, lane, begin, end in us, cost, micro-batches, waits)
STEPS: list[tuple[str, int, float, float, str, list[int], list[tuple[int, int]]]] = [
    ("attn.0", 0, 0, 20, "compute", [0, 1], []),
    ("attn.1", 0, 20, 40, "compute", [1, 2], []),
    ("all_reduce.0", 1, 20, 35, "network", [0, 1], [(0, 1)]),
    ("all_reduce.1", 1, 40, 55, "network", [1, 2], [(0, 2)]),
    ("mlp.0", 0, 40, 70, "compute", [0, 1], [(1, 1)]),
    (f"{HOSTILE}.0-1", 0, 70, 100, "memory", [0, 2], [(1, 2)]),
]

# Uses the page as a reader does, and leaves what it saw in an attribute.
DRIVE = """<script>
(async () => {
  const seen = {}, root = document.documentElement;
  window.requestAnimationFrame = (draw) => setTimeout(draw, 0); // --dump-dom draws no frames
  const drawn = () => new Promise((done) => setTimeout(done, 50));
  const key = (key, more = {}) => dispatchEvent(new KeyboardEvent("keydown", { key, ...more }));
  const now = () => [Math.round(view.begin), Math.round(view.end)];
  const chart = document.querySelector(".chart svg"), box = chart.getBoundingClientRect();
  const bars = [...chart.querySelectorAll(".step")];
  const width = () => Number(bars[0].querySelector(".bar").getAttribute("width"));
  const tip = document.querySelector(".tip");
  seen.start = now();
  seen.width = width();

  const at = { clientX: box.left + 200, clientY: box.top + 10, bubbles: true, cancelable: true };
  chart.dispatchEvent(new WheelEvent("wheel", { deltaY: -200, ...at }));
  await drawn();
  seen.wheel = now();
  seen.wheelWidth = width();
  key("0");
  await drawn();
  seen.reset = now();
  key("+");
  key("ArrowRight", { shiftKey: true });
  seen.keys = now();
  chart.dispatchEvent(new PointerEvent("pointerdown", at));
  dispatchEvent(new PointerEvent("pointermove", { clientX: at.clientX + 60 }));
  dispatchEvent(new PointerEvent("pointerup"));
  seen.dragged = now();
  document.querySelector(".buttons button:last-child").click();
  seen.button = now();
  await drawn();

  seen.tipBefore = tip.hidden;
  bars[3].dispatchEvent(new PointerEvent("pointerenter"));
  seen.tip = tip.innerText;
  seen.arrows = document.querySelectorAll("path.wait").length;
  seen.awaited = document.querySelector(".awaited").getAttribute("aria-label");
  bars[3].dispatchEvent(new PointerEvent("pointerleave"));
  seen.tipAfter = tip.hidden;

  bars[0].focus();
  key("ArrowRight");
  seen.right = document.activeElement.getAttribute("aria-label");
  key("ArrowDown");
  seen.down = document.activeElement.getAttribute("aria-label");
  seen.tipOnFocus = !tip.hidden && tip.querySelector("b").textContent;
  key("Enter");
  seen.zoomedTo = now();
  key("c");
  seen.critical = getComputedStyle(bars[0].querySelector(".critical")).display;
  seen.hacked = window.hacked ?? null;
  root.dataset.seen = JSON.stringify(seen);
})().catch((error) => { document.documentElement.dataset.error = String(error); });
</script></body>"""


def timeline(folder: Path) -> dynaflow.Timeline:
    """The run of STEPS, through a saved trace."""
    lanes: list[dict[str, Any]] = [
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": i + 1, "args": {"name": name}}
        for i, name in enumerate(["compute", "network"])
    ]
    steps = [
        {
            **{"ph": "X", "name": name, "pid": 1, "tid": lane + 1, "ts": begin, "dur": end - begin},
            "args": {
                "cost": cost,
                "step": i,
                "microbatches": microbatches,
                "waits": [{"lane": wait[0], "count": wait[1]} for wait in waits],
            },
        }
        for i, (name, lane, begin, end, cost, microbatches, waits) in enumerate(STEPS)
    ]
    about = {"format": "dynaflow-timeline/1", "total_ns": 100_000}
    path = folder / "run.json"
    path.write_text(json.dumps({"otherData": about, "traceEvents": [*lanes, *steps]}))
    return dynaflow.Timeline.load(path)


def browser(folder: Path, page: Path, *what: str) -> str:
    """What the browser prints when it is asked for something of the page."""
    program = shutil.which("chromium")
    assert program is not None, "chromium is missing; scripts/packages.sh test installs it"
    command = [program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    command += ["--hide-scrollbars", "--window-size=1280,900", "--virtual-time-budget=5000"]
    command += [f"--user-data-dir={folder / 'profile'}", *what, page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    return done.stdout


@dataclass
class Page(HTMLParser):
    """What is left of a page after its scripts have run."""

    text: str
    root: dict[str, str | None] = field(default_factory=dict)
    classes: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Counts what the tests ask for."""
        named = dict(attrs)
        self.tags.append(tag)
        if tag == "html":
            self.root = named
        self.classes += (named.get("class") or "").split()
        if "step" in (named.get("class") or "").split():
            self.labels.append(named.get("aria-label") or "")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("html")


@pytest.fixture(scope="module")
def html(folder: Path) -> Path:
    run = timeline(folder)
    path = folder / "two runs.html"
    dynaflow.save_html(path, {"Sequential": run, HOSTILE: run})
    return path


@pytest.fixture(scope="module")
def page(folder: Path, html: Path) -> Page:
    return Page(browser(folder, html, "--dump-dom"))


@pytest.fixture(scope="module")
def seen(folder: Path, html: Path) -> dict[str, Any]:
    driven = folder / "driven.html"
    driven.write_text(html.read_text().replace("</body>", DRIVE))
    root = Page(browser(folder, driven, "--dump-dom")).root
    assert root.get("data-error") is None
    found: dict[str, Any] = json.loads(root.get("data-seen") or "{}")
    return found


def test_every_step_of_every_run_is_drawn(page: Page) -> None:
    assert page.root.get("data-error") is None
    assert page.root.get("data-rendered") == str(2 * len(STEPS))
    assert page.classes.count("step") == 2 * len(STEPS)
    assert page.classes.count("chart") == 2


def test_steps_say_what_they_are_to_those_who_cannot_see_them(page: Page) -> None:
    assert page.labels[2] == "all_reduce.0, lane network, begins at 20.0 µs, takes 15.0 µs"


def test_network_lanes_look_different(page: Page) -> None:
    assert page.classes.count("row") == 4
    assert page.classes.count("network") == 2
    assert page.classes.count("texture") == 6  # of two network steps and a memory step each


def test_hostile_names_stay_text(page: Page, seen: dict[str, Any]) -> None:
    assert "img" not in page.tags
    assert any(label.startswith(HOSTILE) for label in page.labels)
    assert seen["hacked"] is None


def test_nothing_is_loaded_from_elsewhere(html: Path) -> None:
    assert re.findall(r"(?:src|href)\s*=\s*[\"'][^\"']*//", html.read_text()) == []


def test_the_wheel_zooms_at_the_pointer(seen: dict[str, Any]) -> None:
    assert seen["start"] == [0, 100_000]
    begin, end = seen["wheel"]
    assert 0 < begin < end < 100_000
    assert seen["wheelWidth"] > seen["width"]


def test_keys_zoom_and_pan_and_reset(seen: dict[str, Any]) -> None:
    assert seen["reset"] == [0, 100_000]
    assert seen["keys"] == [25_500, 95_500]
    assert seen["button"] == [0, 100_000]


def test_dragging_moves_the_axis_along(seen: dict[str, Any]) -> None:
    before, after = seen["keys"], seen["dragged"]
    assert after[0] < before[0]
    assert after[1] - after[0] == pytest.approx(before[1] - before[0], abs=1)


def test_pointing_at_a_step_tells_all_about_it(seen: dict[str, Any]) -> None:
    assert (seen["tipBefore"], seen["tipAfter"]) == (True, True)
    for text in ("mlp.0", "compute on lane compute", "40.000 µs", "30.000 µs"):
        assert text in seen["tip"]
    assert "all_reduce.0, which ended 5.0 µs before" in seen["tip"]


def test_pointing_at_a_step_shows_what_it_waited_for(seen: dict[str, Any]) -> None:
    assert seen["arrows"] == 1
    assert seen["awaited"].startswith("all_reduce.0,")


def test_steps_are_reached_by_keyboard(seen: dict[str, Any]) -> None:
    assert seen["right"].startswith("attn.1,")
    assert seen["down"].startswith("all_reduce.0,")
    assert seen["tipOnFocus"] == "all_reduce.0"
    assert seen["zoomedTo"] == [12_500, 42_500]


def test_the_critical_path_is_shown_on_demand(seen: dict[str, Any]) -> None:
    assert seen["critical"] == "inline"


def test_the_page_can_be_photographed(folder: Path, html: Path) -> None:
    picture = folder / "page.png"
    browser(folder, html, f"--screenshot={picture}")
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 20_000  # an empty page has about 5,000
