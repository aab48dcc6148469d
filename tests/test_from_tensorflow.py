"""Every example on the right of docs/from_tensorflow.md, run: it prints what stands after ``# >``."""

from __future__ import annotations

import re

import jax
import jax.experimental.sparse
import pytest

import autograph as ag
from tests.guides import Guide

GUIDE = Guide("from_tensorflow.md", "tensorflow")
ROWS = GUIDE.rows()
OF_KERAS = [row for row in ROWS if "import keras" in row.ours]
OTHERS = [row for row in ROWS if row not in OF_KERAS]


@pytest.mark.parametrize("row", OTHERS, ids=[row.what for row in OTHERS])
def test_example(row, user_folder, capsys):
    assert GUIDE.prints(row.ours, user_folder, capsys) == row.prints


@pytest.mark.filterwarnings("ignore")  # Keras's own
@pytest.mark.parametrize("row", OF_KERAS, ids=[row.what for row in OF_KERAS])
def test_example_with_keras(row, user_folder, capsys, monkeypatch):
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    keras = pytest.importorskip("keras")
    if keras.backend.backend() != "jax":
        pytest.skip("Keras was imported with another backend before")
    assert GUIDE.prints(row.ours, user_folder, capsys) == row.prints


def test_each_row_has_both_sides():
    assert GUIDE.is_complete() and len(ROWS) > 40 and OF_KERAS


# What TensorFlow 2.21 has, of each class or module, without what is deprecated.
NAMES = {
    "tf.data": "apply as_numpy_iterator batch bucket_by_sequence_length cache cardinality choose_from_datasets concatenate counter "
    "element_spec enumerate filter fingerprint flat_map from_generator from_tensor_slices from_tensors get_single_element "
    "group_by_window ignore_errors interleave list_files load map options padded_batch prefetch ragged_batch random range rebatch "
    "reduce rejection_resample repeat sample_from_datasets save scan shard shuffle skip snapshot sparse_batch take take_while unbatch "
    "unique window with_options zip AUTOTUNE FixedLengthRecordDataset INFINITE_CARDINALITY Iterator Options TFRecordDataset "
    "TextLineDataset ThreadingOptions UNKNOWN_CARDINALITY get_next get_next_as_optional",
    "tf.GradientTape": "batch_jacobian gradient jacobian reset stop_recording watch watched_variables",
    "tf.Variable and tf.Module": "assign assign_add assign_sub batch_scatter_update constraint count_up_to dtype eval gather_nd graph "
    "initialized_value initializer load name op read_value ref scatter_add scatter_div scatter_max scatter_min scatter_mul scatter_nd_add "
    "scatter_sub scatter_update shape sparse_read synchronization aggregation trainable value variables trainable_variables "
    "non_trainable_variables submodules name_scope with_name_scope",
    "tf.TensorArray": "close concat dtype dynamic_size element_shape flow gather grad handle identity "
    "read scatter size split stack unstack write",
    "tf.function": "experimental_get_compiler_ir experimental_get_tracing_count function_spec function_type get_concrete_function "
    "get_initialization_function input_signature pretty_printed_concrete_signatures python_function inference_fn",
    "tf.autograph": "set_verbosity to_code to_graph trace experimental.Feature experimental.do_not_convert experimental.set_loop_options",
    "tf.summary": "audio create_file_writer flush graph histogram image record_if scalar should_record_summaries text "
    "trace_export trace_off trace_on write",
    "tf.distribute": "MirroredStrategy MultiWorkerMirroredStrategy OneDeviceStrategy ParameterServerStrategy ReduceOp TPUStrategy "
    "CrossDeviceOps cluster_resolver coordinator get_replica_context get_strategy distribute_datasets_from_function "
    "experimental_distribute_dataset gather num_replicas_in_sync reduce run scope",
    "tf.saved_model and tf.train": "saved_model.save saved_model.load saved_model.Asset saved_model.contains_saved_model train.Checkpoint "
    "train.CheckpointManager train.ExponentialMovingAverage train.Example",
}


ELSEWHERE = {
    "Iterator",
    "Optional",
    "Module",
    "Generator",
    "reset_from_seed",
}  # what these are called here, their rows say


def of_names():
    """The rows of each table of names: what is TensorFlow's, and what is here."""
    text = GUIDE.text[GUIDE.text.index("## Every name") : GUIDE.text.index("## Whole programs")]
    for part in text.split("### ")[1:]:
        title, _, table = part.partition("\n")
        yield title, [tuple(row.strip("| ").split(" | ")) for row in table.strip().splitlines()[2:]]


@pytest.mark.parametrize("title", NAMES)
def test_each_name_has_a_row(title):
    told = {name for theirs, _ in dict(of_names())[title] for name in re.findall(r"`([\w.]+)`", theirs)}
    assert set(NAMES[title].split()) <= told


def test_each_name_that_is_here_exists():
    rows = [row for _, table in of_names() for row in table]
    assert len(rows) > 60 and all(len(row) == 2 for row in rows)
    for _, here in rows:
        for library, path in re.findall(r"`(ag|jax)\.([\w.]+)", here):
            found = {"ag": ag, "jax": jax}[library]
            for name in path.split("."):
                found = getattr(found, name)


@pytest.mark.parametrize(
    ("title", "kind"),
    [
        ("tf.data", (ag.Dataset, type(iter(ag.Dataset.range(1))))),
        ("tf.GradientTape", (ag.GradientTape,)),
        ("tf.TensorArray", (ag.TensorArray,)),
        ("tf.Variable and tf.Module", (ag.Variable, ag.Module, ag.random.Generator, ag, ag.random)),
        ("tf.function", (ag.Function, ag.ConcreteFunction, ag)),
    ],
)
def test_what_is_called_the_same_exists(title, kind):
    checked = 0
    for theirs, here in dict(of_names())[title]:
        if re.search(r"\bsame\b", here) and "input_signature" not in theirs:
            for name in re.findall(r"`([\w.]+)`", theirs):
                last = name.rpartition(".")[2]
                assert last == kind[0].__name__ or last in ELSEWHERE or any(hasattr(k, last) for k in kind), name
                checked += 1
    assert checked > 3
