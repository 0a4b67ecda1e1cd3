"""What overlap with a network gains: a decoder divided over two ranks of one core each.

Eager, plain torch.compile, overlap by hand and ours, over links from fast to slow and one where
compute and network take the same time; compute and network alone too, for the bound.
"""

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypeVar

import torch
import torch.distributed as dist
from support.awake import AwakeCore
from support.balance import Balance
from support.bound import CORE, THREADS, Host, share
from support.by_hand import ByHand
from support.entry import compile_alone
from support.lockstep import JointRound, JointRounds, measure_together
from support.network import become_ranks, is_rank, is_shaped, set_own_rate
from support.ranks import agree
from support.report import FOLDER, Budget, Report, Row
from support.rounds import Call, Spread, spread_of
from support.tensor_parallel import LAYERS, Decoder, Shape, alone
from torch import Tensor

import dynaflow

Arm: TypeAlias = Callable[[], Tensor]
T = TypeVar("T")

LINKS = (4.0, 2.0, 1.0, 0.5, 0.25)  # Gb/s each way
LARGE = Shape(16, 64)
SMALLER = (Shape(8, 32), Shape(64, 1), Shape(8, 1), Shape(1, 1))
PARTS = (2, 4)

EAGER, INDUCTOR, CHOSEN = "eager", "torch.compile", "DynaFlow, parts by measured costs"
ROUNDS, QUICK_ROUNDS, BALANCING_ROUNDS = 60, 3, 5  # at most: small batches need many
HALVES = 2
TIMEOUT = 7200.0
RESULTS = FOLDER / "overlap-rounds.json"


def our_arm(model: Decoder, parts: int) -> dynaflow.CompiledModule:
    """The model under a schedule with a lane for the network."""
    return dynaflow.compile(model, dynaflow.CommOverlap(parts))


# Arms, by name.


def by_hand(parts: int) -> str:
    return f"by hand, {_parts(parts)}"


def ours(parts: int) -> str:
    return f"DynaFlow, {_parts(parts)}"


def compute_only(parts: int) -> str:
    return f"compute only, {_parts(parts)}"


def network_only(parts: int) -> str:
    return f"network only, {_parts(parts)}"


def _parts(parts: int) -> str:
    return f"{parts} parts" if parts > 1 else "1 part"


# On each rank: cases are measured, and rank 0 writes down what they took.


@dataclass(frozen=True)
class Case:
    """A batch over a link."""

    gigabits: float
    shape: Shape
    parts: Sequence[int]
    balanced: bool = False

    def __str__(self) -> str:
        balanced = ", balanced" if self.balanced else ""
        return f"{self.gigabits:.3g} Gb/s{balanced}, batch {self.shape}"

    def is_like(self, other: "Case") -> bool:
        """Whether they are the same but for what rate balances."""
        rates = self.balanced or self.gigabits == other.gigabits
        return self.shape == other.shape and self.balanced == other.balanced and rates


@dataclass(frozen=True)
class Result:
    """What a case took."""

    case: Case
    chosen: int | None
    """How many parts by measured costs; none if the batch stays whole."""
    error: float
    rounds: JointRounds
    rates: Sequence[float]
    """Of the link, in Gb/s: one, or one for each round."""

    @property
    def bounded(self) -> int:
        """In how many parts compute and network were measured alone."""
        return self.chosen or self.case.parts[0]

    @property
    def chosen_arm(self) -> str:
        """Ours as measured costs choose it."""
        return CHOSEN if self.chosen is None else ours(self.chosen)

    def to_json(self) -> dict[str, Any]:
        """For `from_json`."""
        return {
            **vars(self),
            "case": vars(self.case),
            "rounds": self.rounds.to_json(),
        }

    @staticmethod
    def from_json(saved: Mapping[str, Any]) -> "Result":
        """What `to_json` gave."""
        case = Case(**{**saved["case"], "shape": Shape(*saved["case"]["shape"])})
        rounds = JointRounds.from_json(saved["rounds"])
        return Result(case, saved["chosen"], saved["error"], rounds, saved["rates"])


class Bench:
    """The arms of one rank."""

    def __init__(self, core: AwakeCore, rounds: int, seconds: float, *, inductor: bool) -> None:
        """For the rounds of a case, so many seconds, unless a few rounds take longer."""
        self._core, self._inductor = core, inductor
        self._rounds, self._seconds = rounds, seconds
        self._compiled: dict[object, Any] = {}
        self._model = Decoder(dist.get_rank()).eval()
        self._identity = Decoder(dist.get_rank(), alone()).eval()

    def measure(self, case: Case) -> Result:
        """Of arms that are equal, and of what they do apart."""
        set_own_rate(case.gigabits)
        chosen, choice = self._choice(case) if self._inductor else (None, {})
        if chosen is not None and chosen not in case.parts:
            case = replace(case, parts=[*case.parts, chosen])
        bounded = chosen or case.parts[0]
        arms = self._unsplit(case) | choice
        for parts in case.parts:
            arms |= self._split(case, parts)
        error = check_equal(arms)
        if chosen is not None:
            del arms[CHOSEN]  # it is one of the others
        # Those without computation last: what comes after them finds cores that have idled.
        measured = {**arms, **self._apart(case, bounded)}
        rates = [case.gigabits]
        if case.balanced and case.shape == LARGE:
            balance = Balance(case.gigabits, network_only(bounded), compute_only(bounded))
            rounds = self._measure(measured, self._rounds, balance.after_round)
            rates = balance.rates[:-1]
        else:
            rounds = self._measure(measured, self._rounds)
        if dist.get_rank() == 0:
            times = ", ".join(f"{name} {rounds.wall(name).median / 1e3:.0f}" for name in arms)
            told = f"{_parts(chosen) if chosen else 'whole'} by measured costs; " if choice else ""
            print(f"{case}: {times} ms; {told}{rounds}")
        return Result(case, chosen, error, rounds, rates)

    def balanced_rate(self, shape: Shape, parts: int, start: float) -> float:
        """Of a link on which the network alone takes as long as the computation alone."""
        arms = self._apart(Case(start, shape, [parts]), parts)
        off: dict[float, float] = {}
        rate = start
        for _ in range(4):
            set_own_rate(rate)
            rounds = self._measure(arms, BALANCING_ROUNDS)
            ratio = agree(rounds.ratio(network_only(parts), compute_only(parts)).median)
            off[rate] = abs(ratio - 1)
            if dist.get_rank() == 0:
                print(f"batch {shape}, {rate:.3g} Gb/s: network over compute {ratio:.2f}; {rounds}")
            if off[rate] <= 0.05 or not is_shaped():
                break
            rate *= ratio
        return min(off, key=off.__getitem__)

    def _measure(
        self,
        arms: Mapping[str, Call],
        rounds: int,
        after_round: Callable[[JointRound], None] = lambda _: None,
    ) -> JointRounds:
        return measure_together(
            arms, self._core, rounds=rounds, seconds=self._seconds, after_round=after_round
        )

    def _unsplit(self, case: Case) -> dict[str, Arm]:
        x = Decoder.example(case.shape)
        arms: dict[str, Arm] = {EAGER: _calling(self._model, x)}
        if self._inductor:
            inductor = self._once((INDUCTOR, case.shape), lambda: compile_alone(self._model))
            arms[INDUCTOR] = _calling(inductor, x)
        return arms

    def _choice(self, case: Case) -> tuple[int | None, dict[str, Arm]]:
        """Ours with as many parts as pay on this link, by measured costs."""
        x = Decoder.example(case.shape)
        sizes = {-(-len(x) // parts) for parts in (1, 2, 4)}
        costs = dynaflow.calibrate(self._model, x, rows=sorted(sizes))
        chosen = dynaflow.compile(self._model, dynaflow.CommOverlap(costs))
        return costs.best_parts(len(x)), {CHOSEN: _calling(chosen, x)}

    def _split(self, case: Case, parts: int) -> dict[str, Arm]:
        x = Decoder.example(case.shape)
        return {
            by_hand(parts): ByHand(self._model, x, parts),
            ours(parts): _calling(self._ours(case, parts), x),
        }

    def _apart(self, case: Case, parts: int) -> dict[str, Arm]:
        """The schedule with collectives that do nothing, and the collectives with nothing else."""
        x = Decoder.example(case.shape)
        identity = self._once(
            (compute_only(parts), case.shape), lambda: our_arm(self._identity, parts)
        )
        return {
            compute_only(parts): _calling(identity, x),
            network_only(parts): ByHand(self._model, x, parts, computes=False),
        }

    def _ours(self, case: Case, parts: int) -> dynaflow.CompiledModule:
        return self._once((ours(parts), case.shape), lambda: our_arm(self._model, parts))

    def _once(self, key: object, compile_it: Callable[[], T]) -> T:
        """What was compiled for one link serves all."""
        if key not in self._compiled:
            self._compiled[key] = compile_it()
        compiled: T = self._compiled[key]
        return compiled


def _calling(model: Callable[[Tensor], Tensor], x: Tensor) -> Arm:
    return lambda: model(x)


def check_equal(arms: Mapping[str, Arm]) -> float:
    """The largest difference from the first arm; of all ranks."""
    results = {name: call().clone() for name, call in arms.items()}
    first = next(iter(results.values()))
    errors = {
        name: float((y - first).abs().max() / first.abs().max()) for name, y in results.items()
    }
    wrong = {name: error for name, error in errors.items() if not error <= 1e-5}
    assert not wrong, f"differ from eager: {wrong}"
    return max(errors.values())


def splits(shape: Shape) -> Sequence[int]:
    return [n for n in PARTS if n <= shape.rows] or [1]


def measure_all(options: argparse.Namespace, core: AwakeCore) -> Iterator[Result]:
    rounds = QUICK_ROUNDS if options.quick else ROUNDS
    bench = Bench(core, rounds, options.seconds, inductor=not options.quick)
    if options.quick:
        yield bench.measure(Case(1.0, SMALLER[0], [2]))
        return
    links = [Case(rate, LARGE, PARTS) for rate in LINKS]
    named = [case for case in links if options.cases in str(case)]
    yield from (bench.measure(case) for case in named)
    if options.cases and named:
        return
    rate = bench.balanced_rate(LARGE, 2, start=0.5)
    balanced = [Case(rate, shape, splits(shape), balanced=True) for shape in (LARGE, *SMALLER)]
    yield from (bench.measure(case) for case in balanced if options.cases in str(case))


def run_rank(options: argparse.Namespace) -> None:
    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    results = saved_results() if options.cases else []
    with torch.inference_mode(), AwakeCore() as core:
        for result in measure_all(options, core):
            results = [each for each in results if not each.case.is_like(result.case)] + [result]
            if dist.get_rank() == 0:  # as far as it came: a run takes an hour
                RESULTS.write_text(json.dumps([each.to_json() for each in results]))
    dist.barrier()
    dist.destroy_process_group()


def saved_results() -> list[Result]:
    """Of the runs before."""
    if not RESULTS.exists():
        return []
    return [Result.from_json(saved) for saved in json.loads(RESULTS.read_text())]


# In the process that started them: the report.


def report_result(report: Report, result: Result) -> None:
    case, rounds = result.case, result.rounds
    whole = INDUCTOR if INDUCTOR in rounds.kept[0] else EAGER
    for name in rounds.kept[0]:
        report_arm(report, result, name, whole)
    for parts in case.parts:
        report_by_hand(report, result, parts)
    if case.shape == LARGE:
        report_share(report, result)
        report_best(report, result)
    report.note(f"{case}: {rounds}; arms differ by {result.error:.0e} at most, relative")


def report_arm(report: Report, result: Result, arm: str, whole: str) -> None:
    """With what it gains over the `whole` batch, or the CPU time that its network takes."""
    case, rounds = result.case, result.rounds
    name, time = f"{case}: {arm}", _ms(rounds.wall(arm))
    if " only, " in arm:
        report.add(Row(name, time, "ms", cpu=rounds.core(arm)))
        return
    gain, budget = rounds.ratio(whole, arm), None
    if arm == result.chosen_arm:
        surely = rounds.sure_ratio(whole, arm)
        name += "" if arm == CHOSEN else ", by measured costs"
        name += f" (surely {surely:.2f}x)"
        budget = Budget("surely >= 0.97x", surely >= 0.97)
        if case.balanced and case.shape == LARGE:
            budget = Budget(">= 1.6x", gain.median >= 1.6)
    report.add(Row(name, time, "ms", ratio=gain, budget=budget))


def report_share(report: Report, result: Result) -> None:
    """Of the bound; with a budget if as many parts as measured costs choose."""
    value = share_of(result, CORE)
    budget = Budget("0.93 to 1.02", 0.93 <= value.median <= 1.02) if result.chosen else None
    name = f"{result.case}: {ours(result.bounded)}, share of the bound"
    report.add(Row(name, value, "", budget=budget))
    report.add(Row(f"{name} without interrupts", share_of(result, THREADS), ""))
    beside, computing, alone = (
        result.rounds.kernel(arm(result.bounded)) for arm in (ours, compute_only, network_only)
    )
    name = f"{result.case}: the network's time in the kernel, beside computation over alone"
    report.add_exact(name, (beside - computing) / alone, "x")


def share_of(result: Result, host: Host) -> Spread:
    parts = result.bounded
    names = ours(parts), compute_only(parts), network_only(parts)
    return result.rounds.spread(lambda values: share(values, *names, parts, host))


def report_by_hand(report: Report, result: Result, parts: int) -> None:
    value = result.rounds.ratio(by_hand(parts), ours(parts))
    large = parts > 1 and result.case.shape == LARGE
    budget = Budget(">= 0.98x", value.median >= 0.98) if large else None
    name = f"{result.case}: {by_hand(parts)} over {ours(parts)}"
    report.add(Row(name, value, "x", budget=budget))


def report_best(report: Report, result: Result) -> None:
    """Two halves by hand beside as many parts as measured costs choose; the best of each too."""
    rounds, parts = result.rounds, result.case.parts
    if result.chosen is not None:
        value = rounds.ratio(by_hand(HALVES), ours(result.chosen))
        name = f"{result.case}: {by_hand(HALVES)} over {ours(result.chosen)}, by measured costs"
        report.add(Row(name, value, "x", budget=Budget("> 1x", value.median > 1)))
    theirs, own = (
        min(map(arm, parts), key=lambda name: rounds.wall(name).median) for arm in (by_hand, ours)
    )
    name = f"{result.case}: {theirs} over {own}, the best of each"
    report.add(Row(name, rounds.ratio(theirs, own), "x"))


def report_balance(report: Report, result: Result) -> None:
    """Whether compute and network took equally long, on a link that is set anew for each round."""
    apart = network_only(result.bounded), compute_only(result.bounded)
    over = result.rounds.ratio(*apart)
    budget = Budget("0.9 to 1.1", 0.9 <= over.median <= 1.1)
    report.add(Row(f"{result.case}: network only over compute only", over, "x", budget=budget))
    report.add(Row(f"{result.case}: rates of its rounds", spread_of([*result.rates]), "Gb/s"))


def _ms(value: Spread) -> Spread:
    return Spread(*(part / 1e3 for part in value))


def print_report() -> None:
    report = Report("overlap", f"{LAYERS} layers over two ranks of one core each")
    for result in saved_results():
        report_result(report, result)
        if result.case.balanced and result.case.shape == LARGE:
            report_balance(report, result)
    report.finish()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one link, few rounds, no Inductor")
    parser.add_argument("--cases", default="", help="measure only those whose name contains this")
    parser.add_argument("--seconds", type=float, default=180, help="for each case's rounds")
    parser.add_argument("--report", action="store_true", help="of what was measured last")
    options = parser.parse_args()
    if is_rank():
        run_rank(options)
        return
    if not options.report:
        become_ranks(timeout=TIMEOUT)
    print_report()


if __name__ == "__main__":
    main()
