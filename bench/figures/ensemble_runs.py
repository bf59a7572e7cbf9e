# SPDX-License-Identifier: Apache-2.0
"""What the figures on the quality of ensembles share: sets, the recipe of their members (Kipf and Welling, 2017), runs from a spec.

A repeat is a spec seed, 1 to --rounds (5). A run's folder stays inside the figure's own. Members predict with the weights of their best validation epoch."""
import json
import statistics

import figure

MEMBERS, EPOCHS = 8, 200
RECIPE = 'dropout: 0.5, input-dropout: 0.5, lr: 0.01, weight-decay: "1:5e-4", normalize-features: row'


def dataset(f, name):
    """Cora and CiteSeer with their public splits; Cora ML (Bojchevski and Guennemann, 2018) with 20 training nodes a class."""
    if name != "Cora ML":
        return f.planetoid(name.lower())
    source, path = figure.shared_data() / "npz-csr/cora_ml.npz", f.folder / "cora-ml.h5"
    if not source.is_file():
        raise figure.Missing(f"no file '{source}': GNT_SHARED_DATA names the folder of public sets")
    if not path.exists():
        f.gnntrain("import", source, "-o", path, "-q")
        f.gnntrain("split", path, "--kind", "per-class", "-o", path, "-q")
    return path


def run(f, data, seed, *lines, train="", members=MEMBERS, epochs=EPOCHS, recipe=RECIPE):
    """Trains an ensemble of 2-layer GCNs with 16 hidden units; its report.json."""
    folder = f.fresh("ensemble")
    spec = folder.parent / "spec.yaml"
    spec.write_text("\n".join(('model: "gcn:16, gcn"', f"seed: {seed}", f"count: {members}", *lines,
                               f"train: {{ epochs: {epochs}, {recipe}{train} }}", "")))
    f.gnntrain("ensemble", "train", spec, data, "--run", folder, "--threads", f.threads, "-q")
    report = json.loads((folder / "report.json").read_text())
    report["epochs"] = sum(m["epochs"] for m in report["run"]["members"])
    report["seconds"] = sum(m["seconds"] for m in report["run"]["members"])
    return report


def seeds(f):
    return range(1, f.rounds + 1)


def mean(values):
    return statistics.fmean(values)


def median(values):
    return statistics.median(values)


def spread(values):
    return f"{min(values):.2f} to {max(values):.2f}"
