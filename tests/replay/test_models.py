"""The replay set is whole, anonymous, and means the same to two evaluators."""

import re
from collections.abc import Sequence

import numpy as np
import onnx
import pytest
from onnx import TensorProto, checker, numpy_helper
from onnx.reference import ReferenceEvaluator

from .weights import MODELS, fill, load, metadata, random_inputs

NAMES = (
    "bert_layer",
    "convnet",
    "gpt2_layer",
    "llama_cached",
    "llama_layer",
    "lstm_cell",
    "mlp",
    "moe_layer",
    "resnet_block",
    "training_step",
    "unet_block",
    "vit_block",
)
BYTES = 200_000
A_PATH = re.compile(rb"/(home|root|tmp|usr|opt|var|Users|work)/|-packages|\.py\b|:\\\\")
DECODING = {"batch": 1, "sequence": 1, "past": 15, "total": 16}


def weights(model: onnx.ModelProto) -> dict[str, np.ndarray]:
    return {
        tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer
    }


def assert_same(found: Sequence[np.ndarray], wanted: Sequence[np.ndarray]) -> None:
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype == other.dtype
        assert np.isfinite(other).all()
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-5)


def test_there_are_twelve() -> None:
    assert tuple(sorted(path.stem for path in MODELS.iterdir())) == NAMES
    assert len(NAMES) == 12


@pytest.mark.parametrize("name", NAMES)
def test_a_file_is_small_and_names_no_path(name: str) -> None:
    data = (MODELS / f"{name}.onnx").read_bytes()
    assert len(data) < BYTES
    assert A_PATH.search(data) is None


@pytest.mark.parametrize("name", NAMES)
def test_a_filled_model_is_valid(name: str) -> None:
    checker.check_model(fill(load(name)), full_check=True)


@pytest.mark.parametrize("dims", [{}, DECODING], ids=["recorded", "decoding"])
@pytest.mark.parametrize("name", NAMES)
def test_two_evaluators_agree(name: str, dims: dict[str, int]) -> None:
    runtime = pytest.importorskip("onnxruntime")
    model = fill(load(name))
    inputs = random_inputs(model, dims)
    session = runtime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    assert_same(ReferenceEvaluator(model).run(None, inputs), session.run(None, inputs))


@pytest.mark.parametrize("name", NAMES)
def test_outputs_depend_on_weights_and_inputs(name: str) -> None:
    model = load(name)
    evaluators = [ReferenceEvaluator(fill(model, seed)) for seed in (0, 1)]
    inputs = [random_inputs(model, {}, seed) for seed in (0, 1)]
    first = evaluators[0].run(None, inputs[0])
    assert_same(ReferenceEvaluator(fill(model)).run(None, inputs[0]), first)
    assert not all(map(np.array_equal, first, evaluators[0].run(None, inputs[1])))
    if any(tensor.external_data for tensor in model.graph.initializer):
        assert not all(map(np.array_equal, first, evaluators[1].run(None, inputs[0])))


@pytest.mark.parametrize("name", NAMES)
def test_weights_are_drawn_within_their_range(name: str) -> None:
    model = load(name)
    drawn = weights(fill(model))
    assert model == load(name), "the model itself is left as it was"
    for tensor in model.graph.initializer:
        if tensor.data_location == TensorProto.EXTERNAL:
            facts = {entry.key: entry.value for entry in tensor.external_data}
            low, high = float(facts["min"]), float(facts["max"])
            assert ((low <= drawn[tensor.name]) & (drawn[tensor.name] <= high)).all()
        else:
            np.testing.assert_array_equal(
                drawn[tensor.name], numpy_helper.to_array(tensor)
            )


def test_integer_inputs_keep_to_what_is_recorded() -> None:
    inputs = random_inputs(load("bert_layer"), {"sequence": 5})
    tokens, mask = inputs["input_ids"], inputs["attention_mask"]
    assert tokens.shape == mask.shape == (3, 5)
    assert metadata(load("bert_layer"))["range:input_ids"] == "0 199"
    assert 0 <= tokens.min() < tokens.max() <= 199
    assert (np.diff(mask, axis=-1) <= 0).all(), "padding comes last"


def test_a_weight_of_another_source_is_refused() -> None:
    model = load("mlp")
    model.graph.initializer[0].external_data[0].value = "weights.bin"
    with pytest.raises(ValueError, match="expected location 'random'"):
        fill(model)


def test_a_dimension_without_a_size_is_refused() -> None:
    model = load("mlp")
    onnx.helper.set_model_props(model, {})
    with pytest.raises(ValueError, match="no size for dimension 'batch'"):
        random_inputs(model, {})
