#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Figure: how far logits, gradients and losses are from the golden numbers, for every model that the ops express
"""Per tensor the largest |ours - golden| over the largest |golden|; of a gradient, where the file has it only in part, the
first five entries, the largest one and the norm. Losses while training: the largest difference."""
import array
import io
import json
import math
import pathlib
import zipfile

import figure

SETS = ("tiny", "karate", "cora")
MODELS = ("mlp", "gcn", "gcn_weighted", "sage_mean", "gin", "sgc", "appnp", "gcnii")
# name in the file, options
TRAINING = (("gcn_adam", ("--optimizer", "adam", "--lr", 0.01, "--decay", 5e-4)),
            ("gcn_sgd", ("--optimizer", "sgd", "--lr", 0.5)),
            ("sage_adam", ("--optimizer", "adam", "--lr", 0.01, "--decay", 5e-4)))


def read_npz(path):
    """Float64 arrays of an npz file, flat."""
    arrays = {}
    with zipfile.ZipFile(path) as z:
        for name in z.namelist():
            raw = io.BytesIO(z.read(name))
            magic = raw.read(8)
            size = int.from_bytes(raw.read(2 if magic[6] == 1 else 4), "little")
            if "'<f8'" not in raw.read(size).decode():
                raise figure.Failed(f"{path}: '{name}' is no float64 array")
            values = array.array("d")
            values.frombytes(raw.read())
            arrays[name[:-len(".npy")]] = values
    return arrays


def away(ours, golden, scale):
    return max(abs(a - b) for a, b in zip(ours, golden)) / scale


def logits_error(ours, golden, whole):
    scale = max(abs(golden["min"]), abs(golden["max"]))
    rows = golden.get("all_nodes") or golden["first_20_nodes"]
    return away(ours, whole if whole else [v for row in rows for v in row], scale)


def gradient_error(ours, golden, whole):
    scale = golden["max_abs"]
    if scale == 0:
        return max(abs(v) for v in ours)
    if whole:
        return away(ours, whole, scale)
    norm = math.sqrt(sum(v * v for v in ours))
    largest = abs(ours[golden["argmax_abs_flat_index"]])
    return max(away(ours, golden["first_5"], scale), abs(largest - scale) / scale,
               abs(norm - golden["frobenius_norm"]) / golden["frobenius_norm"])


def ask(f, data, model, *words):
    return json.loads(figure.check_run([f.program("bench_golden"), data, model, "--threads", f.threads, *words]))


def one_model(f, case, data, name, golden, whole):
    ours = ask(f, data, name, "--hidden", golden["hidden"])
    wanted = golden["models"][name]
    worst = logits_error(ours["logits"], wanted["logits"], whole.get(f"{name}.logits"))
    f.row(f"{case}, logits", 0, worst, worst, "<= 1e-5", "rel.",
          f"loss {ours['loss']:.7f}, golden {wanted['loss_train']:.7f}", "count")
    errors = {p: gradient_error(values, wanted["gradients"][p], whole.get(f"{name}.grad.{p}"))
              for p, values in zip(wanted["parameter_shapes"], ours["gradients"].values())}
    worst = max(errors, key=errors.get)
    f.row(f"{case}, gradients", 0, errors[worst], errors[worst], "<= 5e-5", "rel.", f"worst of {len(errors)}: {worst}",
          "count")


def measure(f):
    folder = figure.shared_data() / "golden"
    if not folder.is_dir():
        raise figure.Missing(f"no folder '{folder}': GNT_SHARED_DATA names the folder of public sets")
    for kind in SETS:
        models = [m for m in MODELS if f.wants(f"{kind}, {m}")]
        training = [t for t in TRAINING if f.wants(f"{kind}, {t[0]}")]
        if not models and not training:
            continue
        golden = json.loads((folder / f"{kind}_golden.json").read_text())
        whole = read_npz(folder / "cora_golden.npz") if kind == "cora" else {}
        data = f.planetoid("cora") if kind == "cora" else small(f, kind, folder)
        for name in models:
            one_model(f, f"{kind}, {name}", data, name, golden, whole)
        for name, options in training:
            if name in golden.get("training", {}):
                trajectory(f, f"{kind}, {name}", data, golden["training"][name], options, golden["hidden"])


def small(f, kind, folder: pathlib.Path):
    path = f.folder / f"{kind}.h5"
    if not path.exists():
        figure.check_run([figure.python_with("numpy", "h5py"), figure.HERE / "golden_data.py", kind, folder, path])
    return path


def trajectory(f, case, data, wanted, options, hidden):
    ours = ask(f, data, wanted["model"], "--hidden", hidden, "--steps", wanted["steps"], "--normalize", 1, *options)["losses"]
    worst = max(abs(a - b) for a, b in zip(ours, wanted["loss_before_each_step"]))
    f.row(f"{case}, losses", 0, worst, worst, "<= 1e-5", "loss", f"{len(ours)} steps", "count")


if __name__ == "__main__":
    figure.run(measure)
