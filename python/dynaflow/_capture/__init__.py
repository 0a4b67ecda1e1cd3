"""Capture of a PyTorch model: marks, FX → Capture. Translation only; C++ does the analysis."""

from dynaflow._capture.capture import BatchLostError, CaptureResult, capture
from dynaflow._capture.marks import BatchMarkError, Marks, mark
from dynaflow._capture.translate import InputName, Translation, translate
from dynaflow._capture.untranslatable import UntranslatableError

__all__ = [
    "BatchLostError",
    "BatchMarkError",
    "CaptureResult",
    "InputName",
    "Marks",
    "Translation",
    "UntranslatableError",
    "capture",
    "mark",
    "translate",
]
