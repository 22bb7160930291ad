# SPDX-License-Identifier: Apache-2.0
"""Patterns in S3, against the S3 of moto, which checks the signatures."""

import http.server
import json
import subprocess
import sys
import threading
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import levada as lv
import pytest

LEVADA = str(Path(sys.executable).with_name("levada"))
pytestmark = pytest.mark.skipif(
    lv.show_config("dicts")["curl"] is None, reason="built without libcurl"
)


def configure(url: str, what: str, data: bytes = b"") -> None:
    """Calls moto itself: "reset" drops everything, "reset-auth" checks signatures after a number
    of requests."""
    request = urllib.request.Request(f"{url}/moto-api/{what}", data, method="POST")
    request.add_header("Content-Type", "text/plain")
    urllib.request.urlopen(request).close()


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    pytest.importorskip("moto", reason="needs moto[server] (ci/requirements-doors.txt)")
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    url = "http://{}:{}".format(*server.get_host_and_port())
    for name, value in {
        "AWS_ACCESS_KEY_ID": "first",
        "AWS_SECRET_ACCESS_KEY": "first",
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": url,
    }.items():
        monkeypatch.setenv(name, value)
    configure(url, "reset-auth", b"5")
    iam = boto3.client("iam", endpoint_url=url, region_name="us-east-1")
    iam.create_user(UserName="reader")
    keys = iam.create_access_key(UserName="reader")["AccessKey"]
    policy = {
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}],
    }
    iam.put_user_policy(UserName="reader", PolicyName="all", PolicyDocument=json.dumps(policy))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", keys["AccessKeyId"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", keys["SecretAccessKey"])
    s3 = boto3.client(
        "s3",
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id=keys["AccessKeyId"],
        aws_secret_access_key=keys["SecretAccessKey"],
    )
    s3.create_bucket(Bucket="data")
    yield s3
    configure(url, "reset-auth", b"inf")
    configure(url, "reset")
    server.stop()


def lines(pattern: str) -> list[str]:
    return [record["line"] for record in lv.text_lines(pattern)]


def test_patterns_find_objects(bucket: Any) -> None:
    names = ["a-1.txt", "a-0.txt", "b.txt", "c/a-2.txt", "c/d/a-3.txt", "c/", "a b+c&é=~.txt"]
    for name in names:
        bucket.put_object(Bucket="data", Key=name, Body=f"{name}\n".encode())
    assert lines("s3://data/a-*.txt") == ["a-0.txt", "a-1.txt"]
    assert lines("s3://data/{b,a-}*.txt") == ["b.txt", "a-0.txt", "a-1.txt"]
    assert lines("s3://data/*/*.txt") == ["c/a-2.txt"]
    assert lines("s3://data/c/**") == ["c/a-2.txt", "c/d/a-3.txt"]
    assert lines("s3://data/**/a-*.txt") == ["a-0.txt", "a-1.txt", "c/a-2.txt", "c/d/a-3.txt"]
    assert lines("s3://data/a b+c&é*") == ["a b+c&é=~.txt"]
    with pytest.raises(lv.errors.NotFoundError, match=r"no file matches 's3://data/none\*'"):
        lines("s3://data/none*")
    with pytest.raises(lv.errors.NotFoundError, match=r"s3://nothing/\*"):
        lines("s3://nothing/*")


def test_wrong_keys_are_refused(bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    bucket.put_object(Bucket="data", Key="a.txt", Body=b"a\n")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    with pytest.raises(lv.errors.PermissionDeniedError, match=r"s3://data/\*"):
        lines("s3://data/*")


def test_many_objects_are_listed_page_by_page(bucket: Any) -> None:
    for i in range(1001):
        bucket.put_object(Bucket="data", Key=f"{i:04}.txt", Body=b"%d\n" % i)
    ds = lv.text_lines("s3://data/*.txt")
    done = subprocess.run(
        [LEVADA, "run", "text_lines:s3://data/*00.txt"], capture_output=True, text=True
    )
    assert done.stdout.startswith("11 records"), done.stderr
    assert ds.take(1).to_list()[0]["line"] == "0"
    assert lines("s3://data/100*.txt") == ["1000"]


class Flaky(http.server.BaseHTTPRequestHandler):
    """Two pages, and an answer 503 before each."""

    protocol_version = "HTTP/1.1"
    failed: set[str]

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        query = urllib.parse.parse_qs(urllib.parse.urlparse(self.path).query)
        token = query.get("continuation-token", [""])[0]
        fails = token not in self.failed
        self.failed.add(token)
        more = "<NextContinuationToken>a/b+=</NextContinuationToken>" if not token else ""
        key = "one.txt" if not token else "two.txt"
        body = f"<ListBucketResult><Contents><Key>{key}</Key></Contents>{more}</ListBucketResult>"
        if token not in ("", "a/b+="):
            body = "<Error/>"
        self.send_response(503 if fails else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())


def test_a_listing_is_repeated_and_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    handler = type("Once", (Flaky,), {"failed": set()})
    web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=web.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{web.server_port}")
    try:
        found = lines("s3://data/*.txt")  # its objects have that text, too
        assert ["one.txt" in line for line in found] == [True, True]
    finally:
        web.shutdown()
        thread.join()
        web.server_close()
