# SPDX-License-Identifier: Apache-2.0
"""Shows running pipelines to Prometheus, OpenTelemetry and experiment trackers::

    import levada as lv
    import levada.metrics

    data = lv.torch_dataset(ds)
    levada.metrics.prometheus(data, name="train")   # with prometheus_client.start_http_server
    for step, batch in enumerate(DataLoader(data, batch_size=None)):
        ...
        wandb.log(levada.metrics.log(data), step=step)

The numbers are those of ``stats()``, which any thread may call, so the pipeline runs as it did.
A metric holds its pipeline weakly, and disappears with it.
"""

from __future__ import annotations

import time
import weakref

from levada.errors import FailedPreconditionError, InvalidArgumentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    import levada as lv
    from levada.interop.torch import TorchDataset

__all__ = ["log", "opentelemetry", "prometheus"]

_COUNTERS = {
    "records": "Records that were returned",
    "batches": "Batches that were returned",
    "bytes": "Bytes of input files that were read",
    "skipped_records": "Bad records that were skipped",
    "damaged_bytes": "Bytes of damaged input that were passed over",
    "missing_files": "Input files that were missing",
    "empty_files": "Input files without a record",
    "dropped_records": "Records that were dropped by design",
    "requests": "Requests for remote files",
    "retries": "Requests for remote files that repeated a failed one",
    "received_bytes": "Bytes of remote files that were received",
    "wait_seconds": "Seconds in which the consumer waited in next",
    "seconds": "Seconds from the first call of next to the end of the last one",
}
_GAUGES = {
    "ready": "Batches that next can return at once",
    "padding_fraction": "Share of the elements of padded columns that is padding",
}
_PROMETHEUS = {"wait_seconds": "consumer_wait_seconds", "ready": "ready_batches"}


class _Pipelines:
    """Pipelines by name, held weakly."""

    def __init__(self) -> None:
        self._by_name: dict[str, weakref.ref[Any]] = {}

    def add(self, source: Any, name: str) -> None:
        if not hasattr(source, "stats"):
            raise TypeError(
                f"metrics are of an Iterator or of a torch_dataset, got {type(source).__name__}: "
                "write it = iter(ds), and loop over it"
            )
        self._by_name[name] = weakref.ref(source)

    def stats(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for name, reference in list(self._by_name.items()):
            source = reference()
            try:
                found = None if source is None else source.stats()
            except FailedPreconditionError:  # it is closed, or of a parent process
                found = None
            if found is not None:
                yield name, found
            elif self._by_name.get(name) is reference:
                del self._by_name[name]


class _Collector(_Pipelines):
    """What Prometheus collects: all pipelines of one registry."""

    def describe(self) -> Iterable[Any]:
        return []

    def collect(self) -> Iterable[Any]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        def family(kind: Any, name: str, doc: str, *labels: str) -> Any:
            text = f"levada_{_PROMETHEUS.get(name, name)}"
            return kind(text, doc, labels=["pipeline", *labels])

        counters = {key: family(CounterMetricFamily, key, doc) for key, doc in _COUNTERS.items()}
        gauges = {key: family(GaugeMetricFamily, key, doc) for key, doc in _GAUGES.items()}
        stages = family(
            CounterMetricFamily, "stage_seconds", "Seconds of a stage, without its inputs",
            "stage", "id",
        )  # fmt: skip
        for name, stats in self.stats():
            for key, metric in (counters | gauges).items():
                metric.add_metric([name], stats[key])
            for i, stage in enumerate(stats.get("stages", ())):
                stages.add_metric([name, stage["path"], str(i)], stage["seconds"])
        return [*counters.values(), *gauges.values(), stages]


_collectors: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
_logged: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


def prometheus(
    source: lv.Iterator[Any] | TorchDataset, *, name: str = "train", registry: Any = None
) -> None:
    """Registers the counters of a pipeline with a Prometheus registry.

    The metrics are ``levada_records_total``, ``levada_consumer_wait_seconds_total``,
    ``levada_ready_batches``, ``levada_stage_seconds_total`` and further ones, with the label
    `pipeline`. A later pipeline of the same name replaces an earlier one, so each epoch's iterator
    may have it.

    Args:
        source (Iterator | TorchDataset): the running pipeline. It is held weakly.
        name (str, default "train"): the label.
        registry (CollectorRegistry | None): None = the registry of ``prometheus_client``.

    Raises:
        ImportError: prometheus-client is not installed.
        TypeError: `source` does not run.

    Example:
        import levada.metrics
        import prometheus_client

        it = iter(lv.range(1000).batch(10))
        levada.metrics.prometheus(it, name="train")
        prometheus_client.generate_latest()
    """
    if registry is None:
        import prometheus_client

        registry = prometheus_client.REGISTRY
    known = _collectors.get(registry)
    collector = known or _Collector()
    collector.add(source, name)
    if known is None:
        _collectors[registry] = collector
        registry.register(collector)


def opentelemetry(
    source: lv.Iterator[Any] | TorchDataset, meter: Any, *, name: str = "train"
) -> None:
    """Makes observable counters and gauges of a pipeline: ``levada.records``,
    ``levada.wait_seconds``, ``levada.ready`` and so on, with the attribute `pipeline`.

    Args:
        source (Iterator | TorchDataset): the running pipeline. It is held weakly.
        meter (opentelemetry.metrics.Meter): a meter, as ``MeterProvider.get_meter`` returns it.
        name (str, default "train"): the attribute. A later pipeline of the same name replaces an
            earlier one.

    Raises:
        ImportError: opentelemetry-api is not installed.
        TypeError: `source` does not run.

    Example:
        import levada.metrics
        from opentelemetry.metrics import get_meter

        it = iter(lv.range(1000).batch(10))
        levada.metrics.opentelemetry(it, get_meter("training"), name="train")
    """
    from opentelemetry.metrics import Observation

    pipelines = _collectors.get(meter)
    if pipelines is not None:
        pipelines.add(source, name)
        return
    pipelines = _Pipelines()
    pipelines.add(source, name)
    _collectors[meter] = pipelines

    def observed(key: str) -> Any:
        def observe(options: Any) -> list[Any]:
            return [Observation(stats[key], {"pipeline": n}) for n, stats in pipelines.stats()]

        return observe

    for key, doc in _COUNTERS.items():
        meter.create_observable_counter(f"levada.{key}", [observed(key)], description=doc)
    for key, doc in _GAUGES.items():
        meter.create_observable_gauge(f"levada.{key}", [observed(key)], description=doc)


def log(
    source: lv.Iterator[Any] | TorchDataset, every: int = 1, *, prefix: str = "data/"
) -> dict[str, float]:
    """Returns rates since the last call, for the log of an experiment tracker.

    Args:
        source (Iterator | TorchDataset): the running pipeline.
        every (int, default 1): returns rates at every n-th call, and an empty dict at the other
            calls.
        prefix (str, default "data/"): begins the names.

    Returns:
        dict[str, float]: ``records_per_second``, ``batches_per_second``, ``wait_fraction`` (the
        share of the time in which the loop waited for a batch), ``ready``, ``padding_fraction``,
        ``skipped_records``, ``requests`` and ``retries``.

    Example:
        import levada.metrics

        it = iter(lv.range(1000).batch(10))
        for batch in it:
            numbers = levada.metrics.log(it, every=50)  # wandb.log(numbers)
    """
    if every < 1:
        raise InvalidArgumentError(f"log: every={every} must be at least 1")
    calls, clock, before = _logged.get(source, (0, None, {}))
    calls += 1
    if calls % every:
        _logged[source] = calls, clock, before
        return {}
    stats, now = source.stats(), time.monotonic()
    _logged[source] = calls, now, stats
    if stats["batches"] < before.get("batches", 0):  # it was restored
        before = {}

    def since(key: str) -> float:
        return float(stats[key] - before.get(key, 0))

    seconds = since("seconds")  # of all workers of a DataLoader
    passed = now - clock if clock is not None else seconds / max(stats.get("workers", 1), 1)
    numbers = {
        "records_per_second": since("records") / passed if passed > 0 else 0.0,
        "batches_per_second": since("batches") / passed if passed > 0 else 0.0,
        "wait_fraction": since("wait_seconds") / seconds if seconds > 0 else 0.0,
        "ready": float(stats["ready"]),
        "padding_fraction": float(stats["padding_fraction"]),
        "skipped_records": float(stats["skipped_records"]),
        "requests": float(stats["requests"]),
        "retries": float(stats["retries"]),
    }
    return {prefix + key: value for key, value in numbers.items()}
