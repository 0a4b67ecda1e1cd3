"""Ranks that end, stall or differ at random points, many times: run it alone, it takes minutes.

PYTHONPATH=build/torch/python:tests/python python tests/python/ranks/many_faults.py 50
"""

import random
import re
import sys
import time

import ranks

RULES = {"kill": "R10", "stall": "R10", "raise": "R10", "size": "R9", "strategy": "R9"}
AT_MOST = 15.0  # seconds for the error, beside a group's time-out of 4
HUNG = 240.0  # seconds: on a loaded machine two ranks take a minute to start


def fault(chance: random.Random) -> str:
    """One of them; what the rank that was left said."""
    how = chance.choice(list(RULES))
    if RULES[how] == "R9":
        ended = ranks.run("disagree", how, timeout=HUNG)
        assert [one.code for one in ended] == [0, 0], ended
        return f"{how}: {ended[0].output.splitlines()[0]}"
    layer, runs = chance.randrange(3), chance.randrange(20)
    started = ranks.start("lost", how, str(layer), str(runs))
    output, errors = started[0].communicate(timeout=HUNG)
    for process in started:
        process.kill()
        process.wait()
    assert started[0].returncode == 0, errors
    waited = re.search(r"after ([\d.]+) s", output)
    assert waited is not None, output
    assert float(waited[1]) <= AT_MOST, output
    assert RULES[how] in output, output
    return f"{how} in layer {layer} of run {runs}: after {waited[1]} s"


def main(times: int, seed: int) -> None:
    print(f"{times} faults, seed {seed}")
    chance = random.Random(seed)
    for number in range(times):
        print(f"{number + 1:3} {fault(chance)[:150]}", flush=True)
    print("every rank that was left ended with an error that says why")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else int(time.time()))
