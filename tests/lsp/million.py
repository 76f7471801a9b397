"""A workspace of a million lines in an editor: the fetched programs of others, and generated libraries around them that share a header. Prints
how long opening takes, searching and going to definitions, an edit in the header, the peak of memory, and whether anything works while
nothing is asked. `--check` makes misses failures.

    cargo build --release && PROOFLINE=target/release/proofline python tests/lsp/million.py CORPUS [--lines N] [--open N] [--check]
"""
import argparse, os, pathlib, random, re, tempfile, threading, time

from client import CAPABILITIES, Client, at
from workspace import make

missed = []


def say(what, values, limit=None, unit="ms"):
    values = sorted(values)
    quantile = lambda q: values[min(len(values) - 1, int(len(values) * q))]
    verdict = ""
    if limit is not None:
        is_met = quantile(.95) <= limit
        verdict = f"   p95 at most {limit} {unit}: {'yes' if is_met else 'NO'}"
        if not is_met:
            missed.append(what)
    print(f"{what:58} p50 {quantile(.5):9.1f}   p95 {quantile(.95):9.1f} {unit}{verdict}", flush=True)


def timed(work, times):
    begun = time.monotonic()
    result = work()
    times.append((time.monotonic() - begun) * 1000)
    return result


class Watch:
    """The memory of the server with its solver processes, looked at all the time."""

    def __init__(self, pid):
        self.pid, self.peak, self.server, self.over = pid, 0, 0, threading.Event()
        threading.Thread(target=self.look, daemon=True).start()

    def resident(self, pid):
        try:
            return int(re.search(r"VmRSS:\s*(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text()).group(1)) >> 10
        except (OSError, AttributeError):
            return 0

    def children(self):
        found = []
        for task in pathlib.Path(f"/proc/{self.pid}/task").glob("*/children"):
            try:
                found += task.read_text().split()
            except OSError:
                pass
        return found

    def look(self):
        while not self.over.is_set():
            own = self.resident(self.pid)
            self.server = max(self.server, own)
            self.peak = max(self.peak, own + sum(map(self.resident, self.children())))
            self.over.wait(.1)


def ticks(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def switches(pid):
    total = 0
    for status in pathlib.Path(f"/proc/{pid}/task").glob("*/status"):
        total += sum(map(int, re.findall(r"ctxt_switches:\s*(\d+)", status.read_text())))
    return total


def has_verdict(function):
    return function["state"] != "stale" and function["proved"] + function["violated"] + function["unknown"] > 0


def judged(uri, version, count=1):
    """Whether a message says of so many functions of the document what is known of its text now."""
    return lambda m: (
        m.get("method") == "proofline/functions" and m["params"]["uri"] == uri and m["params"]["version"] == version
        and sum(map(has_verdict, m["params"]["functions"])) >= count)


def symbols(client, query):
    return client.ask("workspace/symbol", {"query": query}, 120)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("corpus", nargs="?")
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--open", type=int, default=20)
    parser.add_argument("--limit", type=int, default=4096, help="megabytes")
    parser.add_argument("--folder")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    folder = pathlib.Path(arguments.folder or tempfile.mkdtemp(prefix="proofline-million-"))
    copied, generated = make(folder, arguments.corpus, arguments.lines)
    files = sum(1 for _ in folder.rglob("*.c"))
    print(f"{copied + generated} lines: {copied} of others, {generated} generated; {files} C files", flush=True)

    folders = [{"uri": folder.as_uri(), "name": "million"}]
    begun = time.monotonic()
    client = Client(
        {**CAPABILITIES, "workspace": {"didChangeWatchedFiles": {"dynamicRegistration": True}}},
        options={"memoryLimitMb": arguments.limit},
        params={"workspaceFolders": folders},
        env={"PROOFLINE_CACHE": tempfile.mkdtemp(prefix="proofline-million-cache-")})
    watch = Watch(client.process.pid)
    visible = folder / "generated/lib0/f0.c"
    text = visible.read_text()
    uri = client.open(visible, text)
    client.wait(judged(uri, 1), 60)
    say("opening the folder and a file -> first verdict", [(time.monotonic() - begun) * 1000], 2000)

    begun = time.monotonic()
    while not any(found["name"] == "lib3_f2_7" for found in symbols(client, "lib3_f2_7")):
        time.sleep(.02)
        assert time.monotonic() - begun < 120, "the workspace was never glanced at"
    say("first search -> every C file was glanced at", [(time.monotonic() - begun) * 1000])

    searches = []
    for query in ["inflate", "lib5", "sqlite3VdbeAddOp", "luaV", "ZSTD_compress", "f7_3", "x", "parse", "nothing_like_this"] * 3:
        timed(lambda: symbols(client, query), searches)
    say("search by name", searches, 1000)

    # The last function of a file calls into the next one.
    calls = [(n, line.index("lib")) for n, line in enumerate(text.split("\n")) if "lib0_f1_" in line]
    jumps, uses, callers = [], [], []
    for line, column in calls:
        place = {"textDocument": {"uri": uri}, "position": {"line": line, "character": column + 2}}
        found = timed(lambda: client.ask("textDocument/definition", place), jumps)
        found = found if isinstance(found, list) else [found]
        assert found[0]["uri"].endswith("lib0/f1.c"), found
        timed(lambda: client.ask("textDocument/references", {**place, "context": {"includeDeclaration": True}}), uses)
        item = client.ask("textDocument/prepareCallHierarchy", place)
        timed(lambda: client.ask("callHierarchy/incomingCalls", {"item": item[0]}), callers)
    say("go to a definition in a file that is not open", jumps, 1000)
    say("references", uses, 1000)
    say("callers", callers, 1000)

    # Many files, all with one header; the visible one is what was asked about last.
    opened = []
    for path in sorted((folder / "generated").glob("lib*/f*.c"))[1:arguments.open]:
        opened.append(client.open(path, path.read_text()))
    for other in opened:
        client.wait(judged(other, 1), 300)
    header = folder / "generated/include/common.h"
    common = header.read_text()
    place = {"textDocument": {"uri": uri}, "position": {"line": 20, "character": 6}}
    client.ask("textDocument/hover", place)
    head = client.open(header, common)
    line = next(n for n, l in enumerate(common.split("\n")) if "return CLAMP" in l)
    visible_times, all_times, out_of_order = [], [], []
    turns = random.Random(1)
    # Nobody waits for what the server does in the background: an edit interrupts it.
    for version in range(2, 8):
        # Used in some order, the visible one last.
        turns.shuffle(opened)
        for other in opened:
            client.ask("textDocument/hover", {**place, "textDocument": {"uri": other}})
        client.ask("textDocument/hover", place)
        before, begun = len(client.messages), time.monotonic()
        current = common.split("\n")[line] if version % 2 == 0 else common.split("\n")[line].replace("LIMIT)", "LIMIT - 1)")
        old, new = ("LIMIT)", "LIMIT - 1)") if version % 2 == 0 else ("LIMIT - 1)", "LIMIT)")
        column = current.rindex(old)
        client.change(head, version, at(line, column, column + len(old), new))
        visible_times.append((client.wait(judged(uri, 1), 120, before)["_time"] - begun) * 1000)
        answered = [client.wait(judged(other, 1), 300, before)["_time"] for other in opened]
        # Two workers may swap two that follow each other.
        out_of_order.append(sum(earlier < answered[later] - .1 for later in range(len(opened)) for earlier in answered[: max(0, later - 1)]))
        all_times.append((time.monotonic() - begun) * 1000)
    say("edit of the common header -> the visible file", visible_times, 1000)
    say(f"edit of the common header -> a verdict in {len(opened)} other open files", all_times)
    say("  pairs of them that are answered before one used two places later", out_of_order, 0, "")

    # A file on disk that nobody has open: a buffer hides its file.
    times = []
    closed = [path for path in sorted((folder / "generated").glob("lib*/f9.c")) if path.as_uri() not in [uri, *opened]]
    for n, other in enumerate(closed[:4]):
        other.write_text(other.read_text() + f"int newcomer_{n}(void) {{ return {n}; }}\n")
        begun = time.monotonic()
        client.tell("workspace/didChangeWatchedFiles", {"changes": [{"uri": other.as_uri(), "type": 2}]})
        while not symbols(client, f"newcomer_{n}"):
            time.sleep(.01)
        times.append((time.monotonic() - begun) * 1000)
    say("a file changes on disk -> it is found", times, 1000)

    # Nothing is asked and nothing runs: no thread wakes up.
    for other in [*opened, head]:
        client.tell("textDocument/didClose", {"textDocument": {"uri": other}})
    end = time.monotonic() + 600
    last = ticks(client.process.pid)
    while time.monotonic() < end:
        time.sleep(3)
        now = ticks(client.process.pid)
        if now == last:
            break
        last = now
    before = switches(client.process.pid), ticks(client.process.pid)
    time.sleep(5)
    after = switches(client.process.pid), ticks(client.process.pid)
    say("wake-ups in five seconds of rest", [after[0] - before[0]], 5, "")
    say("processor time in them", [after[1] - before[1]], .05, "s")
    watch.over.set()
    print(f"peak of memory: server {watch.server} MB, with its solvers {watch.peak} MB (limit {arguments.limit})", flush=True)
    if watch.peak > arguments.limit:
        missed.append("memory")
    client.close(30)
    if missed and arguments.check:
        raise SystemExit(f"missed: {missed}")


main()
