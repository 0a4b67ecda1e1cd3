"""ONNX Runtime as a rival: the model exported by torch, inputs and outputs bound in place."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import onnxruntime as ort
import torch
from torch import Tensor, nn

Parallel = Literal["within ops", "across ops"]


class OnnxModel:
    """A model in ONNX Runtime, for one set of inputs."""

    def __init__(self, model: nn.Module, example: Sequence[Tensor]) -> None:
        """Exports `model` for inputs of these sizes."""
        self._inputs = [tensor.numpy() for tensor in example]
        with TemporaryDirectory() as folder:
            path = Path(folder) / "model.onnx"
            torch.onnx.export(
                model, tuple(example), path, dynamo=True, verbose=False, external_data=False
            )
            self._model = path.read_bytes()

    def session(self, parallel: Parallel, threads: int) -> "OnnxSession":
        """With `threads` for each op, or for ops side by side."""
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.intra_op_num_threads = threads if parallel == "within ops" else 1
        if parallel == "across ops":
            options.execution_mode = ort.ExecutionMode.ORT_PARALLEL
            options.inter_op_num_threads = threads
        return OnnxSession(ort.InferenceSession(self._model, options), self._inputs)


class OnnxSession:
    """A session whose inputs and outputs stay where they are."""

    def __init__(self, session: Any, inputs: Sequence[Any]) -> None:  # noqa: ANN401
        self._session = session
        self._binding = session.io_binding()
        for given, array in zip(session.get_inputs(), inputs, strict=True):
            self._binding.bind_cpu_input(given.name, array)
        for result in session.get_outputs():
            self._binding.bind_output(result.name)

    def __call__(self) -> None:
        """Runs the model."""
        self._session.run_with_iobinding(self._binding)

    def outputs(self) -> list[Tensor]:
        """Of the last run."""
        return [torch.from_numpy(array) for array in self._binding.copy_outputs_to_cpu()]
