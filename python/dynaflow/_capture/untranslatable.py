"""The one error of a translation."""

from torch import fx


class UntranslatableError(Exception):
    """A node that a Capture cannot express; the model then runs unscheduled.

    >>> raise UntranslatableError(node, "a higher-order op has no schema")
    UntranslatableError: cond_1 (cond): a higher-order op has no schema
    """

    def __init__(self, node: fx.Node, reason: str) -> None:
        """An error at `node`; `reason` says what the format lacks."""
        super().__init__(f"{node.name} ({node.target}): {reason}")
        self.node = node.name
        self.target = str(node.target)
        self.reason = reason
