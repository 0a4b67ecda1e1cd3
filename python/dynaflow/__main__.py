"""Saved runs on the command line: dynaflow explain run.json, dynaflow show run.json -o run.html."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import dynaflow


def main(arguments: Sequence[str] | None = None) -> int:
    """What the command line asks for; 2 if it cannot be done, with one line that says why."""
    asked = _parser().parse_args(arguments)
    try:
        runs = {_name(path, asked.runs): dynaflow.Timeline.load(path) for path in asked.runs}
        if asked.command == "explain":
            print(dynaflow.explain_ranks(runs) if asked.ranks else _report(runs), end="")
        else:
            dynaflow.save_html(asked.output, runs)
    except dynaflow.Error as error:
        finding = error.findings[0]
        print(
            f"dynaflow: {finding.where}: {finding.message} ({finding.rule} {finding.name})",
            file=sys.stderr,
        )
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="dynaflow", description="Looks at saved runs.")
    commands = parser.add_subparsers(dest="command", required=True)
    explain = commands.add_parser("explain", help="say where the time of each run went")
    show = commands.add_parser("show", help="draw the runs below each other, as one HTML page")
    for command in (explain, show):
        command.add_argument("runs", nargs="+", type=Path, metavar="run.json", help="Timeline.save")
    explain.add_argument(
        "--ranks", action="store_true", help="the runs are one, as each rank saw it: who was late?"
    )
    show.add_argument("-o", "--output", required=True, type=Path, metavar="page.html")
    return parser


def _name(path: Path, paths: Sequence[Path]) -> str:
    """The file's name, with its folder where another one has the same."""
    alone = sum(other.stem == path.stem for other in paths) == 1
    return path.stem if alone else str(path.with_suffix(""))


def _report(runs: dict[str, dynaflow.Timeline]) -> str:
    reports = {name: str(run.explain()) for name, run in runs.items()}
    if len(reports) == 1:
        return next(iter(reports.values()))
    return "\n".join(f"{name}\n{report}" for name, report in reports.items())


if __name__ == "__main__":
    sys.exit(main())
