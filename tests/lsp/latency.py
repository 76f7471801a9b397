"""How long people wait, over the server's real input and output. Prints the figures issue 5 names; `--check` makes misses failures.

    cargo build --release && PROOFLINE=target/release/proofline python tests/lsp/latency.py
"""
import pathlib, sys, tempfile, time

from client import Client, at

HARD = (pathlib.Path(__file__).parent / "test_server.py").read_text().split('HARD = """')[1].split('"""')[0]
missed = []


def say(what, values, limits=()):
    values = sorted(v * 1000 for v in values)
    at_ = lambda q: values[min(len(values) - 1, int(len(values) * q))]
    verdicts = []
    for name, quantile, limit in limits:
        ok = at_(quantile) < limit
        verdicts.append(f"{name} < {limit} ms: {'yes' if ok else 'NO'}")
        if not ok:
            missed.append(what)
    print(f"{what:46} p50 {at_(.5):8.1f}   p95 {at_(.95):8.1f}   max {values[-1]:8.1f} ms   {'; '.join(verdicts)}", flush=True)


def function(number, lines):
    body = "\n".join(f"    if (a > {i} && b < {i * 7 + number}) total = total / 2 + (a % 7) - {i};" for i in range(1, lines - 5))
    return f"static int part{number}(int a, int b) {{\n    int total = b / 4;\n{body}\n    return total / 2;\n}}\n"


def program(functions, lines):
    parts = "\n".join(function(n, lines) for n in range(functions))
    calls = "\n".join(f"    sum = sum / 2 + part{n}(x, sum) / 4;" for n in range(functions))
    return f"extern int __VERIFIER_nondet_int(void);\n{parts}\nint main(void) {{\n    int x = __VERIFIER_nondet_int(), sum = 0;\n{calls}\n    return sum;\n}}\n"


def edits(client, uri, text, count, wait_all):
    """Breaks and mends one function, again and again; the time from the edit to its verdict (or to all of them)."""
    line = next(n for n, l in enumerate(text.split("\n")) if "return total / 2;" in l)
    times, now = [], "    return total / 2;"
    for version in range(2, 2 + count):
        new = "    return total / (total - total);" if version % 2 == 0 else "    return total / 2;"
        wanted = version % 2 == 0
        before, begun = len(client.messages), time.monotonic()
        client.change(uri, version, at(line, 0, len(now), new))
        now = new

        def is_answer(m):
            if wait_all:
                return m.get("method") == "proofline/functions" and m["params"]["version"] == version and all(
                    f["state"] not in ("queued", "running", "stale") for f in m["params"]["functions"])
            if m.get("method") != "proofline/functions" or m["params"]["version"] != version:
                return False
            return next(f for f in m["params"]["functions"] if f["name"] == "part0")["state"] in (
                ("violated",) if wanted else ("proved", "asks", "unknown"))

        times.append(client.wait(is_answer, 60, before)["_time"] - begun)
        time.sleep(0.02)
    return times


def main():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="proofline-latency-"))
    average = (pathlib.Path(__file__).parents[2] / "examples/average.c").read_text()
    starts = []
    for n in range(5):
        begun = time.monotonic()
        client = Client()
        uri = client.open(folder / "average.c", average)
        is_verdict = lambda m: m.get("method") == "textDocument/publishDiagnostics" and m["params"]["diagnostics"]
        starts.append(client.wait(is_verdict)["_time"] - begun)
        client.close()
    say("start -> first verdict, small file", starts, [("p50", .5, 1000)])

    client = Client()
    text = program(4, 50)
    uri = client.open(folder / "fifty.c", text)
    client.settled(uri, 1, 120)
    say("edit -> verdict of the function (50 lines)", edits(client, uri, text, 40, False), [("p50", .5, 100), ("p95", .95, 300)])
    client.close()

    client = Client()
    text = program(20, 48)
    uri = client.open(folder / "thousand.c", text)
    begun = time.monotonic()
    client.settled(uri, 1, 240)
    say(f"open -> all verdicts ({len(text.splitlines())} lines)", [time.monotonic() - begun])
    say("edit -> all verdicts (1,000 lines)", edits(client, uri, text, 20, True), [("p95", .95, 1000)])
    client.close()

    # Both cores verify, for as long as it takes.
    client = Client()
    hard = [client.open(folder / f"hard{n}.c", HARD) for n in range(4)]
    uri = client.open(folder / "average.c", average)
    client.wait(lambda m: m.get("method") == "textDocument/publishDiagnostics" and m["params"]["uri"] == uri and m["params"]["diagnostics"])
    hovers = []
    for n in range(200):
        begun = time.monotonic()
        client.ask("textDocument/hover", {"textDocument": {"uri": uri}, "position": {"line": 9, "character": 14}})
        hovers.append(time.monotonic() - begun)
        time.sleep(0.01)
    say("hover while both cores verify", hovers, [("p95", .95, 50)])
    stops = []
    for version in range(2, 12):
        # An edit stops what runs; what comes next is small, so its verdict shows how long the stop took.
        time.sleep(0.3)
        begun = time.monotonic()
        before = len(client.messages)
        for one in hard:
            client.change(one, version, {"text": "int main(void) { return 0; }\n" if version % 2 == 0 else HARD})
        if version % 2 == 0:
            for one in hard:
                is_done = lambda m: m.get("method") == "proofline/functions" and m["params"]["uri"] == one and m["params"]["version"] == version and m["params"]["functions"][-1]["state"] == "proved"
                last = client.wait(is_done, 60, before)
            stops.append(last["_time"] - begun)
    say("stopping four hard files, and their next verdict", stops, [("p95", .95, 100)])
    client.close()
    if missed and "--check" in sys.argv:
        sys.exit(f"missed: {missed}")


main()
