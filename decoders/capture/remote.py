"""Captures on other file systems, through ``pyarrow.fs``: s3:// (Hadoop's s3a://), hdfs:// and what
else it knows.

Hadoop's words say where S3 is and with which key: ``fs.s3a.endpoint``, ``fs.s3a.access.key`` and so
on, and ``fs.s3a.bucket.NAME.…`` for one bucket (``pipeline.shared.storage`` finds them). They are
set once in each process (``use``), for a worker with the first of its tasks. What is not set there,
Arrow looks for in the places of AWS: variables, files, the machine's role.
"""

import contextlib
import os
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from seqaudit.decoders.capture import hadoop
from seqaudit.decoders.contract.errors import CaptureError

#: Settings by Hadoop's names; sorted, so that they can be a key.
Storage = tuple[tuple[str, str], ...]

_SCHEME: Final = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*://")
_S3: Final = re.compile(r"^s3[an]?://([^/]+)/*(.*)$", re.IGNORECASE | re.DOTALL)

#: Options of Arrow's own behind an address; a question mark alone is a letter of a pattern.
_OPTIONS: Final = re.compile(r"\?[a-z_]+=")
_AWS_REGION: Final = re.compile(r"\bs3[.-]([a-z]{2}(?:-[a-z]+)+-\d)\.amazonaws\.com")
_ANONYMOUS: Final = "AnonymousAWSCredentialsProvider"
_MAGIC: Final = re.compile(r"[*?\[]")
_LETTERS: Final = re.compile(r"\*+|\[!?[^]]+\]|.", re.DOTALL)

#: What is read ahead grows to so much: each request to a store takes its time, whatever it brings.
AHEAD_BYTES: Final = 8 << 20

_KEYS: Final = (
    "check the key (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or spark.hadoop.fs.s3a.access.key "
    "and .secret.key) and what it may read"
)
_ENDPOINT: Final = "check spark.hadoop.fs.s3a.endpoint or AWS_ENDPOINT_URL"
_NAME_NODE: Final = "check the address; it is fs.defaultFS in Hadoop's core-site.xml"

#: What stores say (Arrow's and Amazon's words), what a reader is told, and what to try.
_REFUSALS: Final = tuple(
    (re.compile(pattern), problem, advice)
    for pattern, problem, advice in (
        (
            "ACCESS_DENIED|AccessDenied|INVALID_ACCESS_KEY|INVALID_CLIENT_TOKEN|InvalidAccessKeyId"
            "|SIGNATURE_DOES_NOT_MATCH|EXPIRED_TOKEN|HTTP response code 40[13]",
            "may not be read with this S3 key",
            _KEYS,
        ),
        ("NO_SUCH_BUCKET|Bucket '[^']*' not found", "there is no bucket {bucket}", _ENDPOINT),
        (
            r"NETWORK_CONNECTION.*?(?:curlCode: \d+, ([^;]+))",
            "no S3 server answers at {endpoint} ({0})",
            _ENDPOINT,
        ),
        (
            "AccessControlException: (?:Permission denied: )?(user=[^,;]+|[^;]*)"
            "|HDFS .*(Permission denied)",
            "may not be read by this user of Hadoop ({0})",
            "check its access rights, kinit or HADOOP_USER_NAME",
        ),
        (
            "(?:Connect|NoRouteToHost|UnknownHost|SocketTimeout|Standby|Rpc)Exception: ([^;]*)",
            "no name node answers there ({0})",
            _NAME_NODE,
        ),
        (
            "libjvm|libhdfs|HDFS connection failed",
            "hdfs:// needs Hadoop's own library, libhdfs, and Java",
            "set HADOOP_HOME, JAVA_HOME and CLASSPATH (hadoop classpath --glob prints it) on every "
            "machine that reads",
        ),
    )
)


class Stamp(NamedTuple):
    """Size and time of a file; -1 where the storage does not tell."""

    size_bytes: int
    mtime_ns: int


_used: Storage = ()
_sizes: dict[str, int] = {}


def use(storage: Storage) -> None:
    """What stores are reached with from here on, in this process and its forks."""
    global _used
    if storage != _used:
        _used = storage
        _sizes.clear()


def in_use() -> Storage:
    """What ``use`` was told, for a worker elsewhere."""
    return _used


def is_remote(path: str) -> bool:
    """Whether a path has a scheme."""
    return _SCHEME.match(path) is not None


class RemoteFile:
    """A file behind a URI, read ahead where it is read in order."""

    seekable = True

    def __init__(self, uri: str) -> None:
        from pyarrow import fs

        self._path = uri
        self._ahead = memoryview(b"")
        self._begin = 0  # of what was read ahead
        try:
            with hadoop.listened(uri):
                system, path = _opened(uri)
                found = system.get_file_info(path)
                if found.type == fs.FileType.Directory:
                    raise CaptureError(uri, "is a folder without captures", "name the files in it")
                self._file = system.open_input_file(path)  # tells why, where there is no file
            self.stamp = Stamp(
                int(self._file.size()), -1 if found.mtime_ns is None else int(found.mtime_ns)
            )
        except CaptureError:
            raise
        except FileNotFoundError:
            raise _not_found(uri, system) from None
        except Exception as error:  # OSError, and each file system has more of its own
            raise _refusal(uri, error) from None
        _sizes[uri] = self.stamp.size_bytes

    def read_into(self, offset: int, room: memoryview) -> int:
        """As ``Source`` has it."""
        done = self._from_ahead(offset, room)
        if done == len(room):
            return done
        in_order = offset + done == self._begin + len(self._ahead) and done + len(self._ahead) > 0
        more = min(2 * len(self._ahead), AHEAD_BYTES) if in_order else 0
        size = max(len(room) - done, more)
        try:
            self._begin = offset + done
            with hadoop.listened(self._path):
                self._ahead = memoryview(self._file.read_at(size, self._begin))
        except OSError as error:
            problem = f"cannot be read ({_first_line(error)})"
            raise CaptureError(self._path, problem, "try again", offset + done) from None
        return done + self._from_ahead(offset + done, room[done:])

    def _from_ahead(self, offset: int, room: memoryview) -> int:
        start = offset - self._begin
        if not 0 <= start < len(self._ahead):
            return 0
        held = self._ahead[start : start + len(room)]
        room[: len(held)] = held
        return len(held)

    def close(self) -> None:
        with contextlib.suppress(OSError), hadoop.listened(self._path):
            self._file.close()  # of a store that has gone; nothing was written


def size_of(uri: str) -> int:
    """Bytes of a file; 0 where nobody can tell. Asked once."""
    if uri not in _sizes:
        try:
            with hadoop.listened(uri):
                system, path = _opened(uri)
                _sizes[uri] = int(system.get_file_info(path).size or 0)
        except Exception:  # opening the file says why
            _sizes[uri] = 0
    return _sizes[uri]


def fitting(pattern: str) -> list[str] | None:
    """The files that a pattern fits or that lie in a folder, sorted; null: it is neither.

    ``*``, ``?`` and ``[…]`` stand for letters between two slashes, ``**`` for folders.

    Raises:
        CaptureError: the store cannot be asked.
    """
    from pyarrow import fs

    head, options = _split(pattern)
    base, parts = _base(head)
    try:
        with hadoop.listened(pattern):
            system, folder = _opened(f"{base}{options}")
            if not parts:
                if _type_of(system, folder) != fs.FileType.Directory:
                    return None
                parts = ["**", "*"]
            deep = len(parts) > 1 or "**" in parts
            selector = fs.FileSelector(folder, allow_not_found=True, recursive=deep)
            infos = system.get_file_info(selector)
            if not infos and _type_of(system, folder) == fs.FileType.NotFound:
                raise _not_found(pattern, system)
    except CaptureError:
        raise
    except Exception as error:
        raise _refusal(pattern, error) from None
    fits = re.compile(_expression(parts), re.DOTALL)
    found = []
    for info in infos:
        inside = info.path[len(folder.rstrip("/")) :].lstrip("/")
        if info.type == fs.FileType.File and fits.fullmatch(inside):
            uri = f"{base.rstrip('/')}/{inside}{options}"
            _sizes[uri] = int(info.size)
            found.append(uri)
    return sorted(found)


def is_pattern(path: str) -> bool:
    """Whether a URI has letters that stand for others."""
    return _MAGIC.search(_split(path)[0]) is not None


def _expression(parts: Sequence[str]) -> str:
    """The regular expression of a pattern's parts."""
    text = ""
    for number, part in enumerate(parts, 1):
        if part == "**":
            text += "(?:.*/)?" if number < len(parts) else ".*"
        else:
            text += "".join(map(_letters, _LETTERS.findall(part))) + "/" * (number < len(parts))
    return text


def _letters(token: str) -> str:
    if token[0] == "*":
        return "[^/]*"
    if token == "?":
        return "[^/]"
    if len(token) == 1:
        return re.escape(token)
    inside = token[1:-1]
    negated = "^/" if inside.startswith("!") else ""
    return f"[{negated}{re.escape(inside.removeprefix('!')).replace(chr(92) + '-', '-')}]"


def _split(uri: str) -> tuple[str, str]:
    """A URI without Arrow's options, and these."""
    found = _OPTIONS.search(uri)
    return (uri[: found.start()], uri[found.start() :]) if found else (uri, "")


def _base(uri: str) -> tuple[str, list[str]]:
    """The folder before the first part with a pattern, and the parts from there."""
    scheme, _, rest = uri.partition("://")
    parts = rest.split("/")
    first = next((n for n, part in enumerate(parts) if _MAGIC.search(part)), len(parts))
    return f"{scheme}://{'/'.join(parts[:first])}", [part for part in parts[first:] if part]


def _type_of(system: Any, path: str) -> Any:
    return system.get_file_info(path).type


def _opened(uri: str) -> tuple[Any, str]:
    """The file system of a URI, and the path there."""
    from pyarrow import fs

    head, options = _split(uri)
    if hadoop.is_hadoop(head):
        return hadoop.opened(head, options)
    known = _S3.match(uri)
    if known is None or options:
        system, path = fs.FileSystem.from_uri(re.sub(r"(?i)^s3[an]://", "s3://", uri))
        return system, str(path)
    bucket, key = known[1], known[2]
    # Connections of another process do not live in its forks.
    return _s3(bucket, _used, os.getpid()), f"{bucket}/{key}".rstrip("/")


@lru_cache(maxsize=64)
def _s3(bucket: str, storage: Storage, process: int) -> Any:
    """The file system of a bucket."""
    from pyarrow import fs

    return fs.S3FileSystem(**s3_options(_of_bucket(bucket, storage), bucket))


def _of_bucket(bucket: str, storage: Storage) -> dict[str, str]:
    """Settings of a bucket, without ``fs.s3a.``; its own go before those of all."""
    general = {key[7:]: value for key, value in storage if key.startswith("fs.s3a.")}
    own = f"bucket.{bucket}."
    special = {key[len(own) :]: value for key, value in general.items() if key.startswith(own)}
    return general | special


def s3_options(told: Mapping[str, str], bucket: str) -> dict[str, object]:
    """What Arrow's S3 is told, of Hadoop's settings (without ``fs.s3a.``)."""
    options: dict[str, object] = {}
    if _ANONYMOUS in told.get("aws.credentials.provider", ""):
        options["anonymous"] = True
    elif told.get("access.key") and told.get("secret.key"):
        options["access_key"], options["secret_key"] = told["access.key"], told["secret.key"]
        if told.get("session.token"):
            options["session_token"] = told["session.token"]
    region = told.get("endpoint.region")
    if endpoint := told.get("endpoint"):
        place = urlsplit(endpoint if "://" in endpoint else f"//{endpoint}")
        plain = told.get("connection.ssl.enabled", "true").lower() == "false"
        options["endpoint_override"] = place.netloc
        options["scheme"] = place.scheme or ("http" if plain else "https")
        if told.get("path.style.access", "").lower() == "false":
            options["force_virtual_addressing"] = True
        inside = _AWS_REGION.search(endpoint)
        region = region or (inside[1] if inside else "us-east-1")
    if region is None and not _region_is_known():
        from pyarrow import fs

        region = fs.resolve_s3_region(bucket)
    return options | ({"region": region} if region else {})


def _region_is_known() -> bool:
    return bool(os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION"))


def _not_found(uri: str, system: Any) -> CaptureError:
    from pyarrow import fs

    known = _S3.match(uri)
    if known is not None and _type_of(system, known[1]) == fs.FileType.NotFound:
        return CaptureError(uri, f"there is no bucket {known[1]}", _ENDPOINT)
    return CaptureError(uri, "does not exist", "check the address")


def _refusal(uri: str, error: BaseException) -> CaptureError:
    """One line for what a store says."""
    known = _S3.match(uri)
    bucket = known[1] if known else ""
    endpoint = _of_bucket(bucket, _used).get("endpoint") or "Amazon's address"
    for pattern, problem, advice in _REFUSALS:
        if found := pattern.search(str(error)):
            told = problem.format(*filter(None, found.groups()), bucket=bucket, endpoint=endpoint)
            return CaptureError(uri, told, advice)
    if "Unrecognized filesystem type" in str(error):
        scheme = uri.partition(":")[0]
        return CaptureError(uri, f"nobody here reads {scheme}://", "take file:, s3a:// or hdfs://")
    problem = f"cannot be opened ({_first_line(error)})"
    return CaptureError(uri, problem, "check the address and the access rights of this user")


def _first_line(error: BaseException) -> str:
    return str(error).strip().split("\n", 1)[0][:200]
