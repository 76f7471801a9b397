"""Kills the solver's processes at random under a busy server, and looks whether anybody notices.

    python tests/lsp/chaos.py --minutes 5

Programs that need the solver are opened, edited and verified again and again, while worker processes die: by SIGSEGV, by SIGKILL, and
because they get no more memory. Every verdict must be the one that it is without that; at the end no process may be left.
"""
import argparse, os, pathlib, random, resource, signal, subprocess, sys, tempfile, threading, time

HEAD = "extern int nondet(void);\nextern unsigned nondet_unsigned(void);\n#include <assert.h>\n"

# Each is decided, by an engine that asks the solver and soon enough that a question is not killed three times in a row. `SALT` makes it another text with the same meaning.
PROGRAMS = {
    "down": HEAD + """int main(void) {
    unsigned n = nondet_unsigned(), x = n, y = 0, salt = SALT;
    while (x > 0) { x--; y++; }
    assert(y == n && salt != 0);
    return 0;
}
""",
    "mccarthy": HEAD + """static int f(int x) { return x > 100 ? x - 10 : f(f(x + 11)); }
int main(void) {
    int x = nondet(), salt = SALT, r;
    if (x > 1000000) return 0;
    r = f(x);
    assert(r == 91 || x > 101);
    assert(salt != 0);
    return 0;
}
""",
    "even": HEAD + """static int odd(int n);
static int even(int n) { if (n == 0) return 1; if (n == 1) return 0; return odd(n - 1); }
static int odd(int n) { if (n == 0) return 0; if (n == 1) return 1; return even(n - 1); }
int main(void) {
    int n = nondet(), salt = SALT, r, m;
    if (n < 0) return 0;
    r = odd(n);
    m = n % 2;
    assert((r < 0 || r == m) && salt != 0);
    return 0;
}
""",
    "sums": HEAD + """int main(void) {
    int n = nondet(), i = 0, a = 0, b = 0, salt = SALT;
    if (n < 0 || n > 1000000) return 0;
    while (i < n) {
        if (nondet()) { a = a + 1; b = b + 2; } else { a = a + 2; b = b + 1; }
        i = i + 1;
    }
    assert(a + b == 3 * n && salt != 0);
    return 0;
}
""",
    "key": HEAD + """int main(void) {
    int a = nondet(), b = nondet(), salt = SALT;
    if (a < 0 || a > 20000 || b < 0 || b > 20000) return 0;
    if (3 * a + 7 * b == 70021 && a - b == 7) assert(salt == 0);
    return 0;
}
""",
}


def statistics(pid):
    """Parent and state of a process; nothing if it is gone."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[1]), fields[0]
    except (OSError, IndexError, ValueError):
        return None


def workers(parent):
    """The living processes that a process started."""
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return [pid for pid in pids if (known := statistics(pid)) and known[0] == parent and known[1] not in "ZX"]


class Killer:
    """Kills, until it is told to stop."""

    def __init__(self, parent, seed, pause):
        self.parent, self.random, self.pause = parent, random.Random(seed), pause
        self.killed, self.seen, self.over = {"SIGSEGV": 0, "SIGKILL": 0, "memory": 0}, set(), threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.over.wait(self.random.uniform(0, 2 * self.pause)):
            found = workers(self.parent)
            self.seen.update(found)
            if not found:
                continue
            pid, way = self.random.choice(found), self.random.choice(list(self.killed))
            try:
                if way == "memory":
                    # Whatever it asks for next, it does not get.
                    resource.prlimit(pid, resource.RLIMIT_AS, (1 << 20, 1 << 20))
                else:
                    os.kill(pid, getattr(signal, way))
            except OSError:
                continue
            self.killed[way] += 1

    def stop(self):
        self.over.set()
        self.thread.join()


def states(client, uri, version, limit):
    functions = client.settled(uri, version, limit)
    return {name: (f["state"], f.get("reason")) for name, f in functions.items()}


def run(client, folder, seconds, seed=1, pause=0.5, limit=120, out=None):
    """What was verified, what was killed, and where a verdict was another one."""
    salts = iter(range(2, 1 << 30))
    texts = {name: text.replace("SALT", str(next(salts))) for name, text in PROGRAMS.items()}
    uris = {name: client.open(folder / f"{name}.c", text) for name, text in texts.items()}
    expected = {name: states(client, uri, 1, limit) for name, uri in uris.items()}
    assert all(state in ("proved", "violated") for known in expected.values() for state, _ in known.values()), expected
    killer, end, rounds, wrong, version = Killer(client.process.pid, seed, pause), time.monotonic() + seconds, 0, [], 1
    while time.monotonic() < end:
        version += 1
        # The first text is edited away while it is worked on.
        for is_final in (False, True):
            for name, uri in uris.items():
                client.change(uri, version, {"text": PROGRAMS[name].replace("SALT", str(next(salts)))})
            if not is_final:
                version += 1
                time.sleep(killer.random.uniform(0, 0.3))
        for name, uri in uris.items():
            found = states(client, uri, version, limit)
            rounds += 1
            if found != expected[name]:
                wrong.append((name, version, found))
                print("another verdict:", name, found, "instead of", expected[name], file=out or sys.stderr, flush=True)
    killer.stop()
    return {"expected": expected, "verdicts": rounds, "killed": killer.killed, "workers": len(killer.seen), "wrong": wrong, "seen": killer.seen}


def main():
    from client import Client

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pause", type=float, default=0.5, help="seconds between two deaths, on average")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        client = Client(env={"XDG_CACHE_HOME": folder})
        result = run(client, pathlib.Path(folder), 60 * arguments.minutes, arguments.seed, arguments.pause)
        code, took = client.close(5)
        time.sleep(0.5)
        left = [pid for pid in result["seen"] if statistics(pid) is not None]
    for name, expected in result["expected"].items():
        print(f"{name}: {expected}")
    print(f"{result['verdicts']} verdicts, {len(result['wrong'])} of them wrong; killed: {result['killed']}; processes left: {left}; exit {code} after {took:.2f} s")
    sys.exit(bool(result["wrong"] or left or code))


if __name__ == "__main__":
    main()
