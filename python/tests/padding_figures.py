# SPDX-License-Identifier: Apache-2.0
"""The lengths of three kinds of real data, and what padding costs on each of them.

python padding_figures.py DATA      prints the table of docs/choose-buckets.md
"""

import sys
import wave
from pathlib import Path

import levada as lv

STRATEGIES = {
    "random batches": "random",
    "sorted window": "sorted window of 6,400",
    "budget in order": "budget in order",
    "4 best buckets": "4 best buckets",
    "8 best buckets": "8 best buckets",
    "16 best buckets": "16 best buckets",
    "look-ahead of 4,000": "look-ahead of 4,000",
    "look-ahead of 16,000": "look-ahead of 16,000",
    "packing": "packing",
}
BUDGETS = {"translation": 4096, "speech": 262_144, "time series": 1024}


def translation(data):
    """Tokens of the English sentences."""
    file = data / "tfrecord/lingvo/translate_ende_wmt32k-train-00511-of-00512"
    spec = {"inputs": lv.VarLenFeature(lv.int64)}
    return lv.length_histogram(lv.tfrecord(str(file)).parse_example(spec), "inputs")


def speech(data):
    """Samples of each recording."""
    lengths = []
    for file in sorted((data / "audio/fsdd/recordings").glob("*.wav")):
        with wave.open(str(file)) as recording:
            lengths.append(recording.getnframes())
    return lengths


def time_series(data):
    """Steps of each series: the first of its 12 channels has them."""
    lengths = []
    for part in ("TRAIN", "TEST"):
        file = data / f"timeseries/japanese-vowels/JapaneseVowels_{part}.ts"
        for line in file.read_text().splitlines():
            if line and line[0] not in "#@":
                lengths.append(line.split(":")[0].count(",") + 1)
    return lengths


def reports(data):
    """A report for each kind of data; the records are in random order."""
    found = {
        "translation": translation(data),
        "speech": lv.LengthHistogram(*_counted(speech(data))),
        "time series": lv.LengthHistogram(*_counted(time_series(data))),
    }
    return {
        name: lv.padding_report(lengths, max_tokens=BUDGETS[name])
        for name, lengths in found.items()
    }


def _counted(lengths):
    known = sorted(set(lengths))
    return known, [lengths.count(length) for length in known]


def table(data):
    made = reports(data)
    lines = ["| padding | " + " | ".join(made) + " |", "|---|" + "---|" * len(made)]
    for strategy, shown in STRATEGIES.items():
        cells = [f"{100 * report[strategy]['padding']:.1f} %" for report in made.values()]
        lines.append(f"| {shown} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(Path(sys.argv[1])))
