# SPDX-License-Identifier: Apache-2.0
"""Counters of running pipelines in Prometheus, OpenTelemetry and logs."""

import gc
import threading
import time
from typing import Any

import levada as lv
import levada.metrics
import pytest


def text_of(registry: Any) -> dict[tuple[str, str], float]:
    """The samples of a scrape, as the client's own parser reads them."""
    from prometheus_client import generate_latest
    from prometheus_client.parser import text_string_to_metric_families

    found = {}
    families = list(text_string_to_metric_families(generate_latest(registry).decode()))
    assert len({family.name for family in families}) == len(families)
    for family in families:
        for sample in family.samples:
            if not sample.name.endswith("_created"):
                found[sample.name, sample.labels["pipeline"]] = sample.value
    return found


def test_prometheus_scrapes_a_running_pipeline() -> None:
    client = pytest.importorskip("prometheus_client")
    registry = client.CollectorRegistry(auto_describe=True)
    ds = lv.range(200_000).shuffle(100, seed=1).batch(50)
    want = sum(int(batch["value"].sum()) for batch in ds)
    it, other = iter(ds), iter(lv.range(5))
    levada.metrics.prometheus(it, name="train", registry=registry)
    levada.metrics.prometheus(other, name="eval", registry=registry)
    problems: list[BaseException] = []
    seen: list[float] = []
    stop = threading.Event()

    def scrape() -> None:
        try:
            while not stop.is_set() or not seen:
                seen.append(text_of(registry)["levada_records_total", "train"])
        except BaseException as error:
            problems.append(error)

    thread = threading.Thread(target=scrape)
    thread.start()
    got = sum(int(batch["value"].sum()) for batch in it)
    stop.set()
    thread.join()
    assert (got, problems) == (want, [])
    assert seen == sorted(seen)
    found = text_of(registry)
    assert found["levada_records_total", "train"] == 200_000
    assert found["levada_batches_total", "eval"] == 0
    assert found["levada_consumer_wait_seconds_total", "train"] > 0
    assert ("levada_stage_seconds_total", "train") in found
    it.close()
    del other
    gc.collect()
    assert text_of(registry) == {}
    again = iter(lv.range(7).batch(1))
    next(again)
    levada.metrics.prometheus(again, name="train", registry=registry)
    assert text_of(registry)["levada_records_total", "train"] == 1


def test_a_scrape_takes_less_than_a_millisecond() -> None:
    client = pytest.importorskip("prometheus_client")
    registry = client.CollectorRegistry()
    it = iter(lv.range(1000).shuffle(10).filter("value > 3").batch(10))
    next(it)
    levada.metrics.prometheus(it, registry=registry)
    times = []
    for _ in range(50):
        began = time.perf_counter()
        client.generate_latest(registry)
        times.append(time.perf_counter() - began)
    assert min(times) < 0.001


def test_opentelemetry_observes_a_running_pipeline() -> None:
    pytest.importorskip("opentelemetry.sdk")
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader

    reader = InMemoryMetricReader()
    meter = MeterProvider(metric_readers=[reader]).get_meter("training")

    def read() -> dict[tuple[str, str], float]:
        data = reader.get_metrics_data()
        if data is None:
            return {}
        return {
            (metric.name, point.attributes["pipeline"]): point.value
            for metric in data.resource_metrics[0].scope_metrics[0].metrics
            for point in metric.data.data_points
        }

    it, other = iter(lv.range(10).batch(2)), iter(lv.range(5))
    levada.metrics.opentelemetry(it, meter, name="train")
    levada.metrics.opentelemetry(other, meter, name="eval")
    next(it)
    found = read()
    assert found["levada.records", "train"] == 2
    assert found["levada.records", "eval"] == 0
    assert found["levada.ready", "train"] >= 0
    it.close()
    del other
    gc.collect()
    assert read() == {}


def test_a_log_has_rates_since_the_last_one() -> None:
    it = iter(lv.range(100).batch(10))
    found = []
    for _ in it:
        time.sleep(0.002)
        found.append(levada.metrics.log(it, every=5))
    assert [bool(each) for each in found] == [False] * 4 + [True] + [False] * 4 + [True]
    assert found[9]["data/wait_fraction"] < 0.5
    assert 100 < found[9]["data/records_per_second"] < 5000
    with pytest.raises(ValueError, match="every=0"):
        levada.metrics.log(it, every=0)
    with pytest.raises(TypeError, match=r"write it = iter\(ds\)"):
        levada.metrics._Pipelines().add(lv.range(3), "train")


class TestLoaders:
    @pytest.mark.parametrize("workers", [0, 1, 3])
    @pytest.mark.parametrize("parts", [None, 8])
    def test_counters_of_workers_are_summed(self, workers: int, parts: int | None) -> None:
        torch = pytest.importorskip("torch")
        data = lv.torch_dataset(lv.range(2000).batch(10), parts=parts)
        loader = torch.utils.data.DataLoader(data, batch_size=None, num_workers=workers)
        for epoch in (1, 2):
            batches = sum(1 for _ in loader)
            stats = data.stats()
            assert stats["records"] == 2000 * epoch
            assert stats["batches"] == batches * epoch
            assert stats["workers"] == max(workers, 1)
            assert 0 < stats["wait_seconds"] <= stats["seconds"]
        numbers = levada.metrics.log(data)
        assert numbers["data/records_per_second"] > 0

    def test_spawned_workers_count(self) -> None:
        torch = pytest.importorskip("torch")
        data = lv.torch_dataset(lv.range(100).batch(10))
        loader = torch.utils.data.DataLoader(
            data, batch_size=None, num_workers=2, multiprocessing_context="spawn"
        )
        assert sum(len(batch["value"]) for batch in loader) == 100
        assert data.stats()["records"] == 100

    def test_a_resume_counts_its_own_work(self) -> None:
        pytest.importorskip("torch")
        data = lv.torch_dataset(lv.range(100).batch(10))
        it = iter(data)
        for _ in range(4):
            next(it)
        state = data.state_dict()
        again = lv.torch_dataset(lv.range(100).batch(10))
        again.load_state_dict(state)
        assert sum(len(batch["value"]) for batch in again) == 60
        assert again.stats()["records"] == 60

    @pytest.mark.parametrize("parts", [None, 4])
    @pytest.mark.parametrize("position", [False, True])
    def test_a_profile_names_the_calls(self, parts: int | None, position: bool) -> None:
        torch = pytest.importorskip("torch")
        ds = lv.range(40).batch(10)
        data = lv.torch_dataset(ds, profile=True, parts=parts, position=position)
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
            n = sum(1 for _ in data)
        counts = {event.key: event.count for event in profile.key_averages()}
        assert counts["levada.next"] == n + 1
