# SPDX-License-Identifier: Apache-2.0
"""Files of a web server: the same as local files in every view, over plain and encrypted HTTP."""

import http.server
import os
import re
import shutil
import ssl
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import levada as lv
import numpy as np
import pytest

LEVADA = str(Path(sys.executable).with_name("levada"))
pytestmark = pytest.mark.skipif(
    lv.show_config("dicts")["curl"] is None, reason="built without libcurl"
)


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves a directory with ranges, and counts requests."""

    protocol_version = "HTTP/1.1"
    root: Path
    counts: Counter[str]

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        path = self.root / self.path.split("?")[0].lstrip("/")
        self.counts[path.name] += 1
        if not path.is_file():
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        data = path.read_bytes()
        tag = f'"{path.stat().st_mtime_ns}-{len(data)}"'
        first, last = map(int, re.findall(r"\d+", self.headers["Range"]))
        status = 206 if first < len(data) else 416
        if self.headers.get("If-Match", tag) != tag:
            status = 412
        body = data[first : last + 1] if status == 206 else b""
        self.send_response(status)
        self.send_header("ETag", tag)
        self.send_header("Content-Length", str(len(body)))
        span = f"{first}-{first + len(body) - 1}" if body else "*"
        self.send_header("Content-Range", f"bytes {span}/{len(data)}")
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[str, Path, Counter[str]]]:
    counts: Counter[str] = Counter()
    root = tmp_path / "served"
    root.mkdir()
    handler = type("Served", (Handler,), {"root": root, "counts": counts})
    web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    web.daemon_threads = True
    thread = threading.Thread(target=web.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{web.server_port}", root, counts
    web.shutdown()
    thread.join()
    web.server_close()


def write(root: Path, name: str, n: int = 3000) -> Path:
    rng = np.random.default_rng(5)
    records = [{"id": i, "x": rng.integers(0, 99, rng.integers(1, 60))} for i in range(n)]
    lv.write(lv.from_records(records), root / name)
    return root / name


@pytest.mark.parametrize(
    "name", ["a.tfrecord", "a.tfrecord.gz", "a.jsonl", "a.jsonl.zst", "a.tar", "a.csv"]
)
@pytest.mark.parametrize("threads", [0, 2])
def test_remote_files_are_local_files(server, name, threads):
    url, root, _ = server
    if name == "a.csv":
        (root / name).write_text("id,word\n" + "".join(f"{i},w{i % 7}\n" for i in range(3000)))
    elif name == "a.tar":
        records = [{"__key__": f"{i:04}", "txt": f"word {i}"} for i in range(3000)]
        lv.write(lv.from_records(records), root / name)
    else:
        write(root, name)

    def rows(path: str) -> list[str]:
        return [repr(r) for r in lv.open(path).with_options(threads=threads)]

    assert rows(f"{url}/{name}") == rows(str(root / name))


def test_commands_read_remote_files(server, tmp_path):
    url, root, _ = server
    path = write(root, "a.tfrecord")
    for command in ("info", "verify", "head"):
        texts = []
        for where in (str(path), f"{url}/a.tfrecord"):
            done = subprocess.run([LEVADA, command, where], capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            texts.append(re.sub(r"[\d.]+ (ms|s)\b", "", done.stdout.replace(where, "FILE")))
        assert texts[0].split() == texts[1].split()
    out = tmp_path / "b.tfrecord.zst"
    subprocess.run([LEVADA, "convert", f"{url}/a.tfrecord", str(out)], check=True)
    assert len(list(lv.tfrecord(out))) == 3000


def test_index_shuffle_and_resume(server):
    url, root, counts = server
    path = write(root, "a.tfrecord", 20000)
    subprocess.run([LEVADA, "index", str(path)], check=True)
    spec = {"id": lv.FixedLenFeature([], lv.int64)}

    def open_(where: str) -> lv.Dataset:
        ds = lv.tfrecord(where, index=True, shuffle_records=True)
        return ds.parse_example(spec).batch(64).with_options(seed=3)

    expected = [b["id"].tolist() for b in open_(str(path))]
    counts.clear()
    it = open_(f"{url}/a.tfrecord").iterate()
    got = [next(it)["id"].tolist() for _ in range(100)]
    state = it.save()
    again = open_(f"{url}/a.tfrecord").iterate()
    again.restore(state)
    got += [b["id"].tolist() for b in again]
    assert got == expected
    size = path.stat().st_size
    assert sum(counts.values()) <= 40 + 4 * size // (256 << 10)  # pieces are kept


def test_statistics_count_requests(server):
    url, root, counts = server
    size = write(root, "a.tfrecord", 20000).stat().st_size
    it = lv.tfrecord(f"{url}/a.tfrecord").batch(64).iterate()
    for _ in it:
        pass
    stats = it.stats()
    assert stats["requests"] == sum(counts.values())
    assert stats["retries"] == 0
    assert size <= stats["received_bytes"] <= size + (1 << 20)


def test_a_file_that_changes_is_named(server):
    url, root, _ = server
    path = write(root, "a.tfrecord", 20000)
    ds = lv.tfrecord(f"{url}/a.tfrecord").batch(16).with_options(threads=0)
    it = ds.iterate()
    next(it)
    state = it.save()
    write(root, "a.tfrecord", 19000)
    os.utime(path, ns=(1, 1))
    again = ds.iterate()
    with pytest.raises(lv.errors.FailedPreconditionError, match=r"a\.tfrecord"):
        again.restore(state)
        next(again)


def test_credentials_appear_in_no_output(server, monkeypatch, tmp_path, capfd):
    url, root, _ = server
    secrets = ("hidden-a", "hidden-b", "hidden-c", "hidden-d", "hidden-e")
    for name, secret in zip(
        ("AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "AWS_SESSION_TOKEN", "HF_TOKEN"), secrets,
        strict=False,
    ):  # fmt: skip
        monkeypatch.setenv(name, secret)
    monkeypatch.setenv("AWS_ENDPOINT_URL", url)
    monkeypatch.setenv("HF_ENDPOINT", url)
    (root / "bucket").mkdir()
    (root / "o/n/resolve/main").mkdir(parents=True)
    signed = "?part=1&X-Amz-Signature=hidden-e"
    names = ("s3://bucket/a.tfrecord", "hf://o/n/a.tfrecord", f"{url}/a.tfrecord{signed}")
    for at, folder in zip(names, ("bucket", "o/n/resolve/main", "."), strict=True):
        outputs = []
        path = write(root, f"{folder}/a.tfrecord")
        data = path.read_bytes()
        it = lv.tfrecord(at).batch(8).iterate()
        next(it)
        if at != names[2]:  # the text of a pipeline has the names of its files
            outputs.append(it.save().decode("latin-1"))
        state = it.save()
        outputs.append(f"{it.stats()} {it.report()}")
        path.write_bytes(data[:5000] + b"xx" + data[5002:])
        for attempt in (
            lambda at=at: list(lv.tfrecord(at)),
            lambda at=at: list(lv.csv(at)),
            lambda at=at: next(iter(lv.tfrecord(at.replace("a.tf", "none.tf")))),
            lambda at=at: next(iter(lv.tfrecord(at.replace("a.tf", "*.tf")))),
            lambda at=at, s=state: lv.tfrecord(at).batch(8).iterate().restore(s),
            lambda at=at, s=state: lv.tfrecord(at + "2").batch(8).iterate().restore(s),
            lambda at=at: lv.write(lv.tfrecord(at), at),
        ):
            with pytest.raises((lv.errors.LevadaError, ValueError)) as raised:
                attempt()
            outputs.append(str(raised.value))
        skipping = lv.tfrecord(at).with_options(errors="skip").iterate()
        outputs.append(f"{list(skipping)} {skipping.stats()}")
        text = " ".join(outputs) + "".join(capfd.readouterr())
        assert not [s for s in secrets if s in text]


def test_errors_name_the_file(server):
    url, _, _ = server
    with pytest.raises(lv.errors.NotFoundError, match=r"404[^$]*none\.tfrecord"):
        next(iter(lv.tfrecord(f"{url}/none.tfrecord")))
    with pytest.raises(ValueError, match=r"attempts=0"):
        lv.io(attempts=0)
    with pytest.raises(ValueError, match=r"deadline=0"):
        lv.io(deadline=0)
    with pytest.raises(ValueError, match=r"read_ahead=1 "):
        lv.io(read_ahead=1)


def test_a_child_reads_for_itself(server):
    url, root, _ = server
    write(root, "a.tfrecord")
    ds = lv.tfrecord(f"{url}/a.tfrecord").with_options(threads=0)
    it = ds.iterate()
    next(it)
    read, to = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(to, b"%d" % len(list(ds)))
        os._exit(0)
    os.close(to)
    assert os.waitpid(pid, 0)[1] == 0
    assert os.read(read, 20) == b"3000"
    os.close(read)
    assert len(list(it)) == 2999


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_certificates_are_checked(server, tmp_path):
    _, root, counts = server
    write(root, "a.tfrecord")
    names = ("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost")
    make = ("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2")
    files = ("-keyout", str(tmp_path / "key.pem"), "-out", str(tmp_path / "cert.pem"))
    subprocess.run([*make, *names, *files], check=True, capture_output=True)
    handler = type("Encrypted", (Handler,), {"root": root, "counts": counts})
    web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    web.daemon_threads = True
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    web.socket = context.wrap_socket(web.socket, server_side=True)
    thread = threading.Thread(target=web.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    code = f"""
import levada as lv
lv.io(attempts=1)
print(len(list(lv.tfrecord("https://localhost:{web.server_port}/a.tfrecord"))))
"""
    trusted = {**os.environ, "SSL_CERT_FILE": str(tmp_path / "cert.pem")}
    try:
        for environment, expected in (
            (os.environ, "UnavailableError.*certificate"),
            (trusted, "3000"),
        ):
            command = [sys.executable, "-c", code]
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=60
            )
            assert re.search(expected, done.stdout + done.stderr), done
    finally:
        web.shutdown()
        thread.join()
        web.server_close()
