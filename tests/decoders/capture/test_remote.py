"""Captures on other file systems: which files a pattern means, how they are read, what is said."""

import os
import random
from pathlib import Path
from typing import Any

import pytest

from seqaudit.decoders.capture import remote
from seqaudit.decoders.capture.remote import RemoteFile, fitting, is_pattern, s3_options, size_of
from seqaudit.decoders.contract.errors import CaptureError

TREE = ("a.pcap", "b.pcap", "b1.pcap", "[x].pcap", "day/a.pcap", "day/hour/a.pcap", "a+b.pcap")


@pytest.fixture
def store(tmp_path: Path) -> str:
    """A folder by URI: the file system of this machine, reached as any other."""
    for name in TREE:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    return f"file://{tmp_path}"


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("*.pcap", ["[x].pcap", "a+b.pcap", "a.pcap", "b.pcap", "b1.pcap"]),
        ("b?.pcap", ["b1.pcap"]),
        ("[ab].pcap", ["a.pcap", "b.pcap"]),
        ("[!a].pcap", ["b.pcap"]),
        ("[a-b]*.pcap", ["a+b.pcap", "a.pcap", "b.pcap", "b1.pcap"]),
        ("*/a.pcap", ["day/a.pcap"]),
        ("**/a.pcap", ["a.pcap", "day/a.pcap", "day/hour/a.pcap"]),
        ("d*/**/a.pcap", ["day/a.pcap", "day/hour/a.pcap"]),
        ("day/**", ["day/a.pcap", "day/hour/a.pcap"]),
        ("a+*.pcap", ["a+b.pcap"]),
        ("c*.pcap", []),
        ("day", ["day/a.pcap", "day/hour/a.pcap"]),
    ],
)
def test_a_pattern_means_the_files_it_fits_and_a_folder_all_below_it(
    store: str, pattern: str, names: list[str]
) -> None:
    assert fitting(f"{store}/{pattern}") == [f"{store}/{name}" for name in names]
    assert is_pattern(f"{store}/{pattern}") == (pattern != "day")


def test_a_file_is_neither_a_pattern_nor_a_folder_and_sizes_are_known(store: str) -> None:
    assert fitting(f"{store}/a.pcap") is None
    assert fitting(f"{store}/nothing") is None
    assert size_of(f"{store}/a+b.pcap") == len("a+b.pcap")
    assert size_of(f"{store}/nothing") == 0
    with pytest.raises(CaptureError, match="does not exist; check the address"):
        fitting(f"{store}/nothing/*.pcap")


def test_a_file_elsewhere_is_read_anywhere_and_in_order(tmp_path: Path) -> None:
    data = os.urandom(300_000)
    (tmp_path / "data").write_bytes(data)
    source = RemoteFile(f"file://{tmp_path}/data")
    assert source.stamp == (len(data), (tmp_path / "data").stat().st_mtime_ns)
    chance = random.Random(5)
    at = 0
    for _ in range(300):
        at = at if chance.random() < 0.8 else chance.randrange(len(data) + 10)
        room = bytearray(chance.choice((1, 10, 4_000, 100_000)))
        got = source.read_into(at, memoryview(room))
        assert bytes(room[:got]) == data[at : at + len(room)]
        at += got
    source.close()


@pytest.mark.parametrize(
    ("told", "options"),
    [
        ({"endpoint": "http://h:9000"}, {"endpoint_override": "h:9000", "scheme": "http"}),
        ({"endpoint": "h:9000"}, {"endpoint_override": "h:9000", "scheme": "https"}),
        (
            {"endpoint": "h", "connection.ssl.enabled": "false"},
            {"endpoint_override": "h", "scheme": "http"},
        ),
        (
            {"endpoint": "h", "path.style.access": "false"},
            {"endpoint_override": "h", "scheme": "https", "force_virtual_addressing": True},
        ),
        ({"access.key": "k"}, {}),  # half a key is none
        (
            {"access.key": "k", "secret.key": "s", "session.token": "t"},
            {"access_key": "k", "secret_key": "s", "session_token": "t"},
        ),
        (
            {
                "aws.credentials.provider": "org.x.AnonymousAWSCredentialsProvider",
                "access.key": "k",
            },
            {"anonymous": True},
        ),
    ],
)
def test_hadoop_settings_of_s3_are_arrows(told: dict[str, str], options: dict[str, Any]) -> None:
    given = {"endpoint.region": "eu-central-1"} | told
    assert s3_options(given, "b") == options | {"region": "eu-central-1"}


def test_the_region_is_that_of_amazons_address_or_any_of_another() -> None:
    address = "s3.ap-southeast-2.amazonaws.com"
    assert s3_options({"endpoint": address}, "b")["region"] == "ap-southeast-2"
    assert s3_options({"endpoint": "h:1"}, "b")["region"] == "us-east-1"


def test_settings_of_a_bucket_go_before_those_of_all() -> None:
    storage = (("fs.s3a.bucket.b.endpoint", "own"), ("fs.s3a.endpoint", "all"))
    assert remote._of_bucket("b", storage)["endpoint"] == "own"
    assert remote._of_bucket("c", storage)["endpoint"] == "all"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "When listing objects under key '' in bucket 'b': AWS Error ACCESS_DENIED during "
            "ListObjectsV2 operation: Access Denied",
            "may not be read with this S3 key",
        ),
        ("AWS Error NO_SUCH_BUCKET during ListObjectsV2 operation", "there is no bucket b"),
        (
            "AWS Error NETWORK_CONNECTION during HeadObject operation: curlCode: 7, Could not "
            "connect to server; Details: Failed",
            "no S3 server answers at Amazon's address (Could not connect to server)",
        ),
        (
            "Unable to load libjvm\ndlopen(/usr/lib/jvm",
            "hdfs:// needs Hadoop's own library, libhdfs, and Java",
        ),
        (
            "org.apache.hadoop.security.AccessControlException: Permission denied: user=me, "
            "access=EXECUTE",
            "may not be read by this user of Hadoop (user=me)",
        ),
        (
            "[Errno 13] HDFS list directory failed. Detail: [errno 13] Permission denied",
            "may not be read by this user of Hadoop (Permission denied)",
        ),
        (
            "java.net.ConnectException: Call From a to b failed; For more details see: wiki",
            "no name node answers there (Call From a to b failed)",
        ),
        ("HDFS connection failed", "hdfs:// needs Hadoop's own library, libhdfs, and Java"),
        ("Unrecognized filesystem type in URI: s3a://b/x", "nobody here reads s3a://"),
        ("something else\nand more", "cannot be opened (something else)"),
    ],
)
def test_what_a_store_says_is_one_line(said: str, told: str) -> None:
    refused = remote._refusal("s3a://b/x.pcap", OSError(said))
    assert refused.problem == told
    assert "\n" not in str(refused)
