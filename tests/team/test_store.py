"""A team's store in a folder, and on real servers: Redis as Debian has it, and one that speaks S3. Cut off in the middle, slow, full, lying, away."""

import contextlib
import http.server
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
from pathlib import Path

import boto3
import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("PROOFLINE", str(ROOT / "target/debug/proofline"))

# A proof and a failure; each takes long enough to be worth sharing.
TEXT = """
#include <assert.h>
extern int in(void);
static int doubled(int n) {
  int x = 0, y = 0;
  while (x < n) { x++; y += 2; }
  return y;
}
static int sum(int n) {
  if (n <= 0) return 0;
  return 1 + sum(n - 1);
}
int main(void) {
  int n = in();
  if (n < 0 || n > 1000) return 0;
  assert(doubled(n) == 2 * n);
  assert(sum(n) == n);
  assert(n != 77 || in() == 5);
  return 0;
}
"""

# Another program, about which the store has nothing.
OTHER = TEXT.replace("77", "78")

# Bytes of an object that nobody reads, more or less.
TOO_MANY = 5 << 20


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def wait_for(port):
    for _ in range(400):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError("the server does not start")


class Team:
    """Machines with one text and a cache each."""

    def __init__(self, folder, place, environment=()):
        self.folder, self.place = folder, place
        self.environment = {**os.environ, **dict(environment)}
        self.machines = 0

    def check(self, text=TEXT):
        """What a machine says that has verified nothing before, and how long it takes."""
        self.machines += 1
        (self.folder / "test.c").write_text(text)
        cache = str(self.folder / f"cache{id(self)}-{self.machines}")
        arguments = ["check", "test.c", "--property", "assertion", "--statistics", "--cache", cache, "--store", self.place]
        began = time.monotonic()
        done = subprocess.run([PROGRAM, *arguments], cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=100)
        return Said(done), time.monotonic() - began


class Said:
    def __init__(self, done):
        self.code, self.all = done.returncode, done.stdout + done.stderr

    def verdict(self):
        """What people rely on: the result, and the findings with their places."""
        keep = ("RESULT", "error", "test.c:", "  --> ")
        return self.code, [line for line in self.all.splitlines() if line.strip().startswith(keep)]


def counts(said):
    """Of how many entries the store knew, and of how many it said what does not hold."""
    line = next(line for line in said.all.splitlines() if line.startswith("entries that the team's store knew"))
    numbers = [int(word.strip(",")) for word in line.split() if word.strip(",").isdigit()]
    return tuple(numbers)


class Server:
    """A program that serves a port."""

    def start(self, port, *command):
        self.port = port
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(port)

    def stand_still(self):
        self.process.send_signal(signal.SIGSTOP)

    def kill(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.wait()


class Redis(Server):
    environment = {}

    def __init__(self, folder):
        port = free_port()
        self.start(port, "redis-server", "--port", str(port), "--save", "", "--appendonly", "no", "--dir", str(folder))

    def name(self, port=None):
        return f"redis://127.0.0.1:{port or self.port}/2/team"

    def ask(self, *words, given=None):
        done = subprocess.run(["redis-cli", "-p", str(self.port), "-n", "2", *words], input=given, capture_output=True, check=True)
        # A line's end that the value does not have.
        return done.stdout[:-1]

    def keys(self):
        return sorted(self.ask("keys", "*").decode().split())

    def get(self, key):
        return self.ask("get", key)

    def set(self, key, value):
        self.ask("-x", "set", key, given=value)

    def delete(self, key):
        self.ask("del", key)

    @contextlib.contextmanager
    def full(self):
        """The name of the place where nothing can be written any more."""
        self.ask("config", "set", "maxmemory", "1")
        yield self.name()


class Bucket(Server):
    environment = {"AWS_ACCESS_KEY_ID": "somebody", "AWS_SECRET_ACCESS_KEY": "secret"}

    def __init__(self, folder):
        port = free_port()
        self.start(port, Path(sys.executable).parent / "moto_server", "-p", str(port))
        secret = {"aws_access_key_id": "somebody", "aws_secret_access_key": "secret", "region_name": "us-east-1"}
        self.client = boto3.client("s3", endpoint_url=f"http://127.0.0.1:{port}", **secret)
        self.client.create_bucket(Bucket="team")

    def name(self, port=None):
        return f"s3://team/answers?endpoint=http://127.0.0.1:{port or self.port}"

    def keys(self):
        return sorted(found["Key"] for found in self.client.list_objects_v2(Bucket="team").get("Contents", []))

    def get(self, key):
        return self.client.get_object(Bucket="team", Key=key)["Body"].read()

    def set(self, key, value):
        self.client.put_object(Bucket="team", Key=key, Body=value)

    def delete(self, key):
        self.client.delete_object(Bucket="team", Key=key)

    @contextlib.contextmanager
    def full(self):
        """The same bucket, by the name of a server that reads from it, and has no room for what is written."""
        objects = {f"/team/{key}": self.get(key) for key in self.keys()}

        class Full(Answers):
            def do_GET(self):
                found = objects.get(urllib.parse.unquote(self.path.split("?")[0]))
                self.answer(404 if found is None else 200, found or b"")

            def do_PUT(self):
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self.answer(507)

        with serving(Full) as port:
            yield self.name(port)


class Folder:
    """A file system of its own, which is small."""

    environment = {}

    def __init__(self, folder):
        self.folder = folder / "store"
        self.folder.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={4 * TOO_MANY}", "none", str(self.folder)], capture_output=True)
        if mounted.returncode != 0:
            pytest.skip("only root can mount a file system")

    def kill(self):
        subprocess.run(["umount", str(self.folder)], check=True)

    def name(self):
        return str(self.folder)

    def keys(self):
        return sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_file())

    def get(self, key):
        return (self.folder / key).read_bytes()

    def set(self, key, value):
        (self.folder / key).write_bytes(value)

    def delete(self, key):
        (self.folder / key).unlink()

    @contextlib.contextmanager
    def full(self):
        """The same folder without a free byte."""
        with contextlib.suppress(OSError), open(self.folder / "ballast", "wb", buffering=0) as ballast:
            while True:
                ballast.write(bytes(4096))
        yield self.name()


class Answers(http.server.BaseHTTPRequestHandler):
    """What small servers of our own have in common."""

    protocol_version = "HTTP/1.1"

    def answer(self, code, body=b""):
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def serving(handler):
    """The port of a server whose requests this one answers."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


@contextlib.contextmanager
def piped(port, *how):
    """A port whose bytes pass through `slow_pipe.py` to another one."""
    own = free_port()
    pipe = subprocess.Popen([sys.executable, Path(__file__).with_name("slow_pipe.py"), str(own), str(port), *map(str, how)])
    try:
        wait_for(own)
        yield own
    finally:
        pipe.kill()
        pipe.wait()


def opened(kind, folder):
    place = kind(folder)
    try:
        yield place
    finally:
        place.kill()


@pytest.fixture(params=[Redis, Bucket])
def server(request, tmp_path):
    yield from opened(request.param, tmp_path)


@pytest.fixture(params=[Redis, Bucket, Folder])
def place(request, tmp_path):
    yield from opened(request.param, tmp_path)


def team_of(folder, place, name=None):
    return Team(folder, name or place.name(), place.environment)


def confirmed(team):
    """What a machine says that confirms what the store knows. (What does not come in time is verified; where much else goes on, a server may be late.)"""
    for _ in range(5):
        said, _ = team.check()
        if counts(said) == (1, 0):
            return said
        assert counts(said) == (0, 0), said.all
    raise AssertionError(said.all)


def shared(team):
    """One machine verifies, the next one confirms, and both say the same. What they say, and how long the first one takes."""
    first, took = team.check()
    assert first.code == 1, first.all
    assert counts(first) == (0, 0), first.all
    assert confirmed(team).verdict() == first.verdict()
    return first, took


def is_not_waited_for(took, alone):
    """Whether work takes as long as without the place, and its own waiting: seconds, where a machine with other work is slow. (Of a place that never
    answers each read and write alone would take more.)"""
    return took < 2 * alone + 5


def test_what_one_machine_proved_another_one_confirms(tmp_path, place):
    shared(team_of(tmp_path, place))


def test_where_a_bucket_is_the_environment_says_too(tmp_path):
    for bucket in opened(Bucket, tmp_path):
        shared(Team(tmp_path, "s3://team/answers", {**bucket.environment, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{bucket.port}"}))


def test_a_server_that_stands_still_or_dies_changes_no_verdict(tmp_path, server):
    team = team_of(tmp_path, server)
    first, alone = shared(team)
    server.stand_still()
    still, took = team.check()
    assert still.verdict() == first.verdict()
    assert is_not_waited_for(took, alone)
    server.kill()
    dead, took = team.check()
    assert dead.verdict() == first.verdict()
    assert "of no use at the moment" in dead.all and is_not_waited_for(took, alone)


def test_a_full_place_changes_no_verdict(tmp_path, place):
    """What is there is read, and what is new is lost."""
    first, _ = shared(team_of(tmp_path, place))
    with place.full() as name:
        team = team_of(tmp_path, place, name)
        assert confirmed(team).verdict() == first.verdict()
        before = place.keys()
        other, again = [team.check(OTHER)[0] for _ in range(2)]
        assert counts(other) == counts(again) == (0, 0)
        assert other.verdict() == again.verdict() and other.code == 1
        assert place.keys() == before


@pytest.mark.parametrize("name", ["file", "file/store"])
def test_a_file_where_the_folder_should_be_changes_no_verdict(tmp_path, name):
    """Nor does a share that is not mounted, or is not this user's."""
    (tmp_path / "file").write_text("no folder")
    team = Team(tmp_path, str(tmp_path / name))
    first, second = [team.check()[0] for _ in range(2)]
    assert counts(first) == counts(second) == (0, 0)
    assert first.verdict() == second.verdict() and first.code == 1
    assert "of no use at the moment" in first.all
    assert (tmp_path / "file").read_text() == "no folder"


@pytest.mark.parametrize("lie", [b"", b"nothing", bytes(100), b"x" * 100000, b"x" * TOO_MANY], ids=lambda lie: f"{len(lie)} bytes")
def test_a_lying_place_changes_no_verdict(tmp_path, place, lie):
    team = team_of(tmp_path, place)
    first, _ = shared(team)
    (key,) = place.keys()
    true = place.get(key)
    for said in [lie, true[: len(true) // 2], true[:-1] + bytes([true[-1] ^ 1])]:
        place.set(key, said)
        mistaken, _ = team.check()
        assert counts(mistaken) == (0, 0), mistaken.all
        assert mistaken.verdict() == first.verdict(), said[:10]


def test_an_object_of_another_kind_changes_no_verdict(tmp_path):
    for redis in opened(Redis, tmp_path):
        team = team_of(tmp_path, redis)
        first, _ = shared(team)
        (key,) = redis.keys()
        redis.delete(key)
        redis.ask("hset", key, "a", "b")
        said, _ = team.check()
        assert said.verdict() == first.verdict()


def test_an_answer_without_an_end_is_not_read_on(tmp_path):
    """The server does not say how long it is: it goes on for as long as somebody listens."""
    sent = []

    class Endless(Answers):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            with contextlib.suppress(OSError):
                for _ in range(10000):
                    self.wfile.write(b"10000\r\n" + bytes(0x10000) + b"\r\n")
                    sent.append(0x10000)
            self.close_connection = True

        def do_PUT(self):
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.answer(200)

    with serving(Endless) as port:
        said, _ = Team(tmp_path, f"s3://team/answers?endpoint=http://127.0.0.1:{port}", Bucket.environment).check()
    assert counts(said) == (0, 0) and said.code == 1, said.all
    # What is on the way in buffers is not read.
    assert 0 < sum(sent) < 4 * TOO_MANY


@pytest.mark.parametrize("most", [1, 40, 120, 300, 500, 1000])
def test_a_connection_that_is_cut_in_the_middle_changes_no_verdict(tmp_path, server, most):
    """After so many bytes of answers the line is dead: in the greeting, in an answer's head, in its middle."""
    team = team_of(tmp_path, server)
    first, _ = shared(team)
    with piped(server.port, 0, most) as cut:
        said, _ = team_of(tmp_path, server, server.name(cut)).check()
        assert said.verdict() == first.verdict()
        assert counts(said) in [(0, 0), (1, 0)], said.all
    # What is there is whole, whatever was written meanwhile.
    assert confirmed(team).verdict() == first.verdict()


def test_older_and_newer_versions_live_side_by_side(tmp_path, place):
    """The name of an object says which version wrote it. Those of others are neither read nor changed."""
    team = team_of(tmp_path, place)
    first, _ = shared(team)
    (own,) = place.keys()
    format_, engines = own.rsplit("/", 1)
    name, number = format_.rsplit("-", 1)
    older, newer, engine = f"{name}-{int(number) - 1}/{engines}", f"{name}-{int(number) + 1}/{engines}", f"{format_}/{'0' * len(engines)}"
    if isinstance(place, Folder):
        for other in (older, newer):
            (place.folder / other).parent.mkdir()
    written = place.get(own)
    place.set(older, written)
    for other in (newer, engine):
        place.set(other, b"of another version")
    place.delete(own)
    # What an older one has left says nothing to this one.
    again, _ = team.check()
    assert counts(again) == (0, 0) and again.verdict() == first.verdict()
    assert confirmed(team).verdict() == first.verdict()
    assert [place.get(other) for other in (older, newer, engine)] == [written] + [b"of another version"] * 2
    assert place.keys() == sorted([own, older, newer, engine])


@pytest.mark.parametrize("name", ["redis://127.0.0.1:{}", "s3://team/answers?endpoint=http://127.0.0.1:{}"])
def test_nobody_waits_for_a_server_that_is_away(tmp_path, name):
    _, alone = Team(tmp_path, str(tmp_path / "folder")).check()
    team = Team(tmp_path, name.format(free_port()), Bucket.environment)
    first, _ = team.check()
    second, took = team.check()
    assert first.verdict() == second.verdict() and counts(second) == (0, 0)
    assert "of no use at the moment" in second.all and is_not_waited_for(took, alone)


def test_a_slow_server_is_not_waited_for(tmp_path, server):
    """Every byte passes through a pipe that waits: 0.2 s for each piece, in both directions."""
    first, alone = team_of(tmp_path, server).check()
    with piped(server.port, 0.2) as slow:
        said, took = team_of(tmp_path, server, server.name(slow)).check()
        assert said.verdict() == first.verdict()
        assert is_not_waited_for(took, alone)
