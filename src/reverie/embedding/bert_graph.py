"""The all-MiniLM-L6-v2 network as an ONNX graph: six BERT layers, mean pooling, unit length.

`float32` holds no weights of its own: its tensors point into `model.safetensors` beside it (ONNX
external data), so the model is on disk once and the runtime maps it instead of reading it. `int8`
holds its own quantised matrices and points at the float32 embeddings.

A graph is a pure function of the weights file and of `BUILD`: whoever changes the graph raises
`BUILD`, and every cached copy is rebuilt. A test compares it with a plain NumPy forward pass. As
the weights are pinned, the graph in float32 lies beside this file, written by
`python -m tools.model_graph`, and `onnx` is needed for `int8` alone.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BUILD = 1
FLOAT32_FILE = Path(__file__).with_name("minilm_float32.onnx")
# As published: the weights fit no other numbers.
LAYERS, HEADS, HIDDEN = 6, 12, 384
# The head of a text stands for all of it: chunks gained nothing (docs/why-embedding.md).
MAX_TOKENS = 256
# The first with LayerNormalization; onnxruntime runs it since 1.12.
OPSET = 17
# Seven bits: eight saturate on x86 without VNNI, and vectors would differ by machine.
INT8_PEAK = 63


class TensorLocation(NamedTuple):
    """Where one array lies in a safetensors file: shape, and offset and length in bytes."""

    shape: tuple[int, ...]
    offset: int
    length: int


def locate_tensors(path: Path) -> dict[str, TensorLocation]:
    """The float32 arrays of a safetensors file, by name."""
    # Eight bytes of length, a JSON header, raw values.
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
    found: dict[str, TensorLocation] = {}
    for name, row in header.items():
        if row.get("dtype") == "F32":
            start, end = row["data_offsets"]
            found[name] = TensorLocation(
                tuple(row["shape"]),
                8 + size + start,
                end - start,
            )
    return found


def map_tensor(path: Path, at: TensorLocation) -> NDArray[np.float32]:
    """One array of the file, mapped and not copied."""
    import numpy as np

    return np.memmap(
        path,
        dtype="<f4",
        mode="r",
        offset=at.offset,
        shape=at.shape,
    )


@dataclass
class _GraphBuilder:
    """A graph under construction: methods add nodes and return the name of their result."""

    weights: Path
    precision: str
    nodes: list[Any] = field(default_factory=list)
    constants: dict[str, Any] = field(default_factory=dict)

    def op(
        self,
        kind: str,
        *inputs: str,
        **attributes: Any,
    ) -> str:
        """Add a node with one result."""
        return self.ops(kind, 1, *inputs, **attributes)[0]

    def ops(
        self,
        kind: str,
        count: int,
        *inputs: str,
        **attributes: Any,
    ) -> list[str]:
        """Add a node with `count` results."""
        from onnx import helper

        names = [f"{kind}_{len(self.nodes)}_{i}" for i in range(count)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, **attributes))
        return names

    def const(self, value: Any, kind: str = "int64") -> str:
        """Add a small constant, kept in the graph."""
        import numpy as np
        from onnx import numpy_helper

        name = f"const_{len(self.constants)}"
        self.constants[name] = numpy_helper.from_array(
            np.asarray(value, dtype=kind),
            name,
        )
        return name

    def weight(self, name: str) -> str:
        """Refer to a tensor of the weights file."""
        from onnx import TensorProto

        if name not in self.constants:
            at = locate_tensors(self.weights)[name]
            proto = TensorProto(
                name=name,
                data_type=TensorProto.FLOAT,
                dims=at.shape,
            )
            proto.data_location = TensorProto.EXTERNAL
            place = {
                "location": self.weights.name,
                "offset": at.offset,
                "length": at.length,
            }
            for key, value in place.items():
                proto.external_data.add(key=key, value=str(value))
            self.constants[name] = proto
        return name

    def norm(self, x: str, name: str) -> str:
        """LayerNorm over the last dimension."""
        scale, bias = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return self.op("LayerNormalization", x, scale, bias, epsilon=1e-12)

    def dense(self, x: str, name: str) -> str:
        """x · Wᵀ + b."""
        bias = self.weight(f"{name}.bias")
        if self.precision == "float32":
            return self.op("Gemm", x, self.weight(f"{name}.weight"), bias, transB=1)
        return self.op("Add", self.int8_product(x, f"{name}.weight"), bias)

    def int8_product(self, x: str, name: str) -> str:
        """x · Wᵀ in integers: a scale per column of Wᵀ, and one for x, from the whole batch."""
        import numpy as np

        w = np.asarray(map_tensor(self.weights, locate_tensors(self.weights)[name])).T
        scale = np.abs(w).max(axis=0) / INT8_PEAK
        whole = self.const(np.rint(w / scale), "int8")
        # The scale of x is worked out when the graph runs, from all texts that run together.
        x8, x_scale, x_zero = self.ops("DynamicQuantizeLinear", 3, x)
        zero = self.const(np.zeros(w.shape[1]), "int8")
        product = self.op(
            "Cast",
            self.op("MatMulInteger", x8, whole, x_zero, zero),
            to=1,
        )
        both_scales = self.op("Mul", x_scale, self.const(scale, "float32"))
        return self.op("Mul", product, both_scales)

    def gelu(self, x: str) -> str:
        """x/2 · (1 + erf(x/√2)): the exact form, in the pattern that onnxruntime fuses."""
        one_plus_erf = self.op(
            "Add",
            self.op(
                "Erf",
                self.op("Div", x, self.const(math.sqrt(2), "float32")),
            ),
            self.const(1, "float32"),
        )
        doubled = self.op("Mul", x, one_plus_erf)
        return self.op("Mul", doubled, self.const(0.5, "float32"))


def build_bert_graph(weights: Path, precision: str) -> bytes:
    """The graph as bytes, to be saved beside `weights`.

    Inputs are ids and mask, (n, t) int64; the output is unit vectors, (n, 384) float32.
    """
    from onnx import TensorProto, helper

    g = _GraphBuilder(weights, precision)
    shape = g.op(
        "Concat",
        g.op("Shape", "ids"),
        g.const([HEADS, HIDDEN // HEADS]),
        axis=0,
    )
    # [n·t, 384] throughout: Gemm wants two dimensions
    x = g.op(
        "Reshape",
        _embed_tokens(g),
        g.const([-1, HIDDEN]),
    )
    # Made once and shared by all layers.
    bias = _mask_bias(g)
    for layer in range(LAYERS):
        x = _bert_layer(g, x, shape, bias, f"encoder.layer.{layer}")
    pooled = _mean_pool(g, x)
    ids = helper.make_tensor_value_info("ids", TensorProto.INT64, ["n", "t"])
    mask = helper.make_tensor_value_info("mask", TensorProto.INT64, ["n", "t"])
    out = helper.make_tensor_value_info(pooled, TensorProto.FLOAT, ["n", HIDDEN])
    graph = helper.make_graph(
        g.nodes,
        "all-MiniLM-L6-v2",
        [ids, mask],
        [out],
        list(g.constants.values()),
    )
    model = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=8,
    )
    return bytes(model.SerializeToString(deterministic=True))


def _embed_tokens(g: _GraphBuilder) -> str:
    """The sum of word, position and type embeddings; the type is always the first."""
    words = g.op("Gather", g.weight("embeddings.word_embeddings.weight"), "ids")
    length = g.op("Shape", "ids", start=1)
    places = g.op(
        "Slice",
        g.weight("embeddings.position_embeddings.weight"),
        g.const([0]),
        length,
        g.const([0]),
    )
    kind = g.op("Gather", g.weight("embeddings.token_type_embeddings.weight"), g.const(0))
    return g.norm(
        g.op("Add", g.op("Add", words, places), kind),
        "embeddings.LayerNorm",
    )


def _mask_bias(g: _GraphBuilder) -> str:
    """[n, 1, 1, t], added before softmax: 0 for a token, -1e9 for padding."""
    padding = g.op(
        "Sub",
        g.const(1, "float32"),
        g.op("Cast", "mask", to=1),
    )
    return g.op(
        "Unsqueeze",
        g.op("Mul", padding, g.const(-1e9, "float32")),
        g.const([1, 2]),
    )


def _bert_layer(
    g: _GraphBuilder,
    x: str,
    shape: str,
    bias: str,
    name: str,
) -> str:
    attended = g.op(
        "Add",
        x,
        _self_attention(g, x, shape, bias, f"{name}.attention"),
    )
    x = g.norm(attended, f"{name}.attention.output.LayerNorm")
    inner = g.gelu(g.dense(x, f"{name}.intermediate.dense"))
    widened = g.op("Add", x, g.dense(inner, f"{name}.output.dense"))
    return g.norm(widened, f"{name}.output.LayerNorm")


def _self_attention(
    g: _GraphBuilder,
    x: str,
    shape: str,
    bias: str,
    name: str,
) -> str:
    """softmax(Q·Kᵀ/√d + bias)·V, twelve heads at once."""

    def heads(part: str, order: list[int]) -> str:
        split = g.op("Reshape", g.dense(x, f"{name}.self.{part}"), shape)
        return g.op("Transpose", split, perm=order)

    scores = g.op(
        "MatMul",
        heads("query", [0, 2, 1, 3]),
        heads("key", [0, 2, 3, 1]),
    )
    scaled = g.op(
        "Div",
        scores,
        g.const(math.sqrt(HIDDEN // HEADS), "float32"),
    )
    weights = g.op(
        "Softmax",
        g.op("Add", scaled, bias),
        axis=-1,
    )
    mixed = g.op(
        "MatMul",
        weights,
        heads("value", [0, 2, 1, 3]),
    )
    flat = g.op(
        "Reshape",
        g.op("Transpose", mixed, perm=[0, 2, 1, 3]),
        g.const([-1, HIDDEN]),
    )
    return g.dense(flat, f"{name}.output.dense")


def _mean_pool(g: _GraphBuilder, x: str) -> str:
    """The mean over real tokens, scaled to unit length."""
    rows = g.op(
        "Reshape",
        x,
        g.op("Concat", g.op("Shape", "ids"), g.const([HIDDEN]), axis=0),
    )
    weight = g.op(
        "Unsqueeze",
        g.op("Cast", "mask", to=1),
        g.const([2]),
    )
    total = g.op(
        "ReduceSum",
        g.op("Mul", rows, weight),
        g.const([1]),
        keepdims=0,
    )
    length = g.op(
        "ReduceL2",
        total,
        axes=[1],
        keepdims=1,
    )  # the mean's divisor cancels out here
    return g.op(
        "Div",
        total,
        g.op("Max", length, g.const(1e-12, "float32")),
    )
