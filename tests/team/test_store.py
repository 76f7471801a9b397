"""A team's store on real servers: Redis as Debian has it, and one that speaks S3. Cut off in the middle, slow, full, lying."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

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
int main(void) {
  int n = in();
  if (n < 0 || n > 1000) return 0;
  assert(doubled(n) == 2 * n);
  assert(n != 77 || in() == 5);
  return 0;
}
"""


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def wait_for(port):
    for _ in range(200):
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

    def check(self, text=TEXT, cache=None):
        """What a machine says that has verified nothing before, and how long it takes."""
        self.machines += 1
        (self.folder / "test.c").write_text(text)
        cache = cache or str(self.folder / f"cache{self.machines}")
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


@pytest.fixture
def redis(tmp_path):
    port = free_port()
    arguments = ["redis-server", "--port", str(port), "--save", "", "--appendonly", "no", "--dir", str(tmp_path)]
    server = subprocess.Popen(arguments, stdout=subprocess.DEVNULL)
    wait_for(port)
    yield server, port
    server.send_signal(signal.SIGCONT)
    server.kill()
    server.wait()


@pytest.fixture
def s3(tmp_path):
    port = free_port()
    server = subprocess.Popen([Path(sys.executable).parent / "moto_server", "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(port)
    urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}/team", method="PUT"))
    yield server, port
    server.kill()
    server.wait()


def shared(team):
    """One machine verifies, the next one confirms, and both say the same."""
    first, _ = team.check()
    assert first.code == 1, first.all
    assert counts(first) == (0, 0), first.all
    second, _ = team.check()
    assert counts(second) == (1, 0), second.all
    assert second.verdict() == first.verdict()
    return first


def test_redis_is_shared(tmp_path, redis):
    _, port = redis
    shared(Team(tmp_path, f"redis://127.0.0.1:{port}/2/team"))


def test_s3_is_shared(tmp_path, s3):
    _, port = s3
    secret = {"AWS_ACCESS_KEY_ID": "somebody", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}"}
    shared(Team(tmp_path, "s3://team/answers", secret))


def test_a_server_that_stands_still_or_dies_changes_no_verdict(tmp_path, redis):
    server, port = redis
    team = Team(tmp_path, f"redis://127.0.0.1:{port}")
    first = shared(team)
    server.send_signal(signal.SIGSTOP)
    still, took = team.check()
    assert still.verdict() == first.verdict()
    assert took < 20
    server.send_signal(signal.SIGCONT)
    server.kill()
    server.wait()
    dead, _ = team.check()
    assert dead.verdict() == first.verdict()


def test_a_full_server_changes_no_verdict(tmp_path, redis):
    _, port = redis
    subprocess.run(["redis-cli", "-p", str(port), "config", "set", "maxmemory", "1"], check=True, stdout=subprocess.DEVNULL)
    team = Team(tmp_path, f"redis://127.0.0.1:{port}")
    first, _ = team.check()
    second, _ = team.check()
    assert first.verdict() == second.verdict()
    assert counts(second) == (0, 0)


def test_a_lying_server_changes_no_verdict(tmp_path, redis):
    _, port = redis
    team = Team(tmp_path, f"redis://127.0.0.1:{port}")
    first = shared(team)
    command = ["redis-cli", "-p", str(port)]
    keys = subprocess.run([*command, "keys", "*"], capture_output=True, text=True, check=True).stdout.split()
    assert keys
    for lie in ["nothing", "\x00" * 100, "x" * 100000]:
        for key in keys:
            subprocess.run([*command, "-x", "set", key], input=lie, text=True, check=True, stdout=subprocess.DEVNULL)
        said, _ = team.check()
        assert said.verdict() == first.verdict(), lie[:10]
    subprocess.run([*command, "flushall"], check=True, stdout=subprocess.DEVNULL)
    for key in keys:
        subprocess.run([*command, "hset", key, "a", "b"], check=True, stdout=subprocess.DEVNULL)
    said, _ = team.check()
    assert said.verdict() == first.verdict()


@pytest.mark.parametrize("most", [1, 40, 120, 300, 500])
def test_a_connection_that_is_cut_in_the_middle_changes_no_verdict(tmp_path, redis, most):
    """After so many bytes of answers the line is dead: in the greeting, in an answer's head, in its middle."""
    _, port = redis
    team = Team(tmp_path, f"redis://127.0.0.1:{port}")
    first = shared(team)
    cut = free_port()
    pipe = subprocess.Popen([sys.executable, Path(__file__).with_name("slow_pipe.py"), str(cut), str(port), "0", str(most)])
    try:
        wait_for(cut)
        said, _ = Team(tmp_path, f"redis://127.0.0.1:{cut}").check(cache=str(tmp_path / f"cut{most}"))
        assert said.verdict() == first.verdict()
        assert counts(said) in [(0, 0), (1, 0)], said.all
    finally:
        pipe.kill()
        pipe.wait()
    # What is there is whole, whatever was written meanwhile.
    said, _ = team.check()
    assert counts(said) == (1, 0), said.all


def test_older_and_newer_versions_live_side_by_side(tmp_path, redis):
    """The name of an object says which version wrote it. Those of others are neither read nor changed."""
    _, port = redis
    team = Team(tmp_path, f"redis://127.0.0.1:{port}")
    first = shared(team)
    command = ["redis-cli", "-p", str(port)]
    ask = lambda *words: subprocess.run([*command, *words], capture_output=True, text=True, check=True).stdout.strip()
    (own,) = ask("keys", "*").split()
    format_, engines = own.rsplit("/", 1)
    name, number = format_.rsplit("-", 1)
    others = [f"{name}-{int(number) - 1}/{engines}", f"{name}-{int(number) + 1}/{engines}", f"{format_}/{'0' * len(engines)}"]
    ask("copy", own, others[0])
    for other in others[1:]:
        ask("set", other, "of another version")
    ask("del", own)
    # What an older one has left says nothing to this one.
    again, _ = team.check()
    assert counts(again) == (0, 0) and again.verdict() == first.verdict()
    second, _ = team.check()
    assert counts(second) == (1, 0) and second.verdict() == first.verdict()
    assert [ask("get", other) for other in others[1:]] == ["of another version"] * 2
    assert sorted(ask("keys", "*").split()) == sorted([own, *others])


def test_nobody_waits_for_a_server_that_is_away(tmp_path):
    team = Team(tmp_path, f"redis://127.0.0.1:{free_port()}")
    first, _ = team.check()
    second, took = team.check()
    assert first.verdict() == second.verdict() and counts(second) == (0, 0)
    assert "of no use at the moment" in second.all and took < 20


def test_a_slow_server_is_not_waited_for(tmp_path, redis):
    """Every byte passes through a pipe that waits: 0.2 s for each piece, in both directions."""
    _, port = redis
    slow = free_port()
    pipe = subprocess.Popen([sys.executable, Path(__file__).with_name("slow_pipe.py"), str(slow), str(port), "0.2"])
    try:
        wait_for(slow)
        fast = Team(tmp_path, f"redis://127.0.0.1:{port}/1")
        slow_team = Team(tmp_path, f"redis://127.0.0.1:{slow}/2")
        first, alone = fast.check()
        said, took = slow_team.check(cache=str(tmp_path / "another"))
        assert said.verdict() == first.verdict()
        assert took < alone + 12
    finally:
        pipe.kill()
        pipe.wait()
