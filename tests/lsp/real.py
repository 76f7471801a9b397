"""How long people wait in real files. For each: how long after opening 95 % of its functions have a verdict of the cheap engines, the server's
processor time until it is quiet, and, in a leaf, a function in the middle and one that many call, how long after typing a division by zero it is
shown, and after taking it out it is gone. Hovers are asked for all the time. A function that is not in the file is left out.

    cargo xtask corpus && cargo build --release && PROOFLINE=target/release/proofline python tests/lsp/real.py target/corpus [WORD…]
"""
import os, pathlib, re, statistics, sys, tempfile, threading, time

from client import CAPABILITIES, Client, at

FILES = [
    ("cjson/cJSON.c", ["case_insensitive_strcmp", "get_object_item", "cJSON_New_Item"]),
    ("zlib/inflate.c", ["updatewindow", "inflateReset", "inflateStateCheck"]),
    ("zlib/deflate.c", ["longest_match", "deflateReset", "deflateStateCheck"]),
    ("lua5.4/src/lvm.c", ["l_strcmp", "luaV_lessthan", "luaV_tonumber_"]),
    ("lua5.4/src/lparser.c", ["error_expected", "exprstat", "checknext"]),
    ("tinyexpr/tinyexpr.c", ["fac", "list", "next_token"]),
    ("inih/ini.c", ["ini_rstrip", "ini_parse_stream", "ini_lskip"]),
    ("sqlite3/sqlite3.c", ["sqlite3Strlen30", "sqlite3VdbeAddOp3", "sqlite3DbFree"]),
]
BUG = "int pl_z = 0; pl_z = 1 / pl_z;\n"
EDITS = 6


def show(what, values):
    if not values:
        return f"{what} -"
    values = sorted(v * 1000 for v in values)
    return f"{what} p50 {statistics.median(values):.0f} p95 {values[min(len(values) - 1, int(len(values) * .95))]:.0f} ms"


def cpu(client):
    fields = pathlib.Path(f"/proc/{client.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    # Workers that have ended count, too.
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def quiet(client, limit):
    """Waits until the server does nothing for two seconds. Whether that came to pass."""
    end, last = time.monotonic() + limit, cpu(client)
    while time.monotonic() < end:
        time.sleep(2)
        now = cpu(client)
        if now - last < .05:
            return True
        last = now
    return False


def hover(client, uri, text, over, times):
    lines = [n for n, line in enumerate(text.split("\n")) if line.startswith("    ")] or [0]
    n = 0
    while not over.is_set():
        n += 97
        begun = time.monotonic()
        client.ask("textDocument/hover", {"textDocument": {"uri": uri}, "position": {"line": lines[n % len(lines)], "character": 6}}, 60)
        times.append(time.monotonic() - begun)
        over.wait(.1)


def has_verdict(function):
    return function["state"] in ("proved", "asks", "violated", "unknown") or function["proved"] + function["violated"] + function["asked"] + function["unknown"] > 0


def edit(client, uri, line, version, on, off):
    """Types the mistake and takes it out."""

    def is_shown(m, wanted):
        found = m.get("method") == "textDocument/publishDiagnostics" and m["params"]["uri"] == uri and m["params"].get("version") == version
        return found and wanted == any(
            d["range"]["start"]["line"] == line and d.get("code") == "division-by-zero" for d in m["params"]["diagnostics"])

    for wanted, change, times in [
        (True, at(line, 0, 0, BUG), on),
        (False, {"range": {"start": {"line": line, "character": 0}, "end": {"line": line + 1, "character": 0}}, "text": ""}, off),
    ]:
        version += 1
        before, begun = len(client.messages), time.monotonic()
        client.change(uri, version, change)
        try:
            times.append(client.wait(lambda m: is_shown(m, wanted), 60, before)["_time"] - begun)
        except AssertionError:
            times.append(60)
        time.sleep(.3)
    return version


def measure(path, names):
    text = path.read_text(errors="replace")
    client = Client(CAPABILITIES, env={"PROOFLINE_CACHE": tempfile.mkdtemp(prefix="proofline-real-")})
    begun = time.monotonic()
    uri = client.open(path, text)
    over, hovers = threading.Event(), []
    threading.Thread(target=hover, args=(client, uri, text, over, hovers), daemon=True).start()

    def is_cheap(m):
        functions = m["params"]["functions"] if m.get("method") == "proofline/functions" and m["params"]["uri"] == uri else []
        return functions and sum(map(has_verdict, functions)) >= .95 * len(functions)

    try:
        opened = f"{client.wait(is_cheap, 300)['_time'] - begun:.1f} s"
    except AssertionError:
        opened = "more than 300 s"
    is_quiet = quiet(client, 300)
    print(f"{path.name}: {text.count(chr(10))} lines · open -> cheap verdicts {opened} · quiet after {cpu(client):.0f} CPU s{'' if is_quiet else ' (not yet)'}", flush=True)
    version = 1
    for name in names:
        start = re.search(r"^[A-Za-z_][^\n;#=]*\b" + name + r"\s*\)?\s*\([^;{}]*\)\s*\{[^\n]*\n", text, re.M)
        if not start:
            continue
        line, on, off, before = text[:start.end()].count("\n"), [], [], cpu(client)
        for _ in range(EDITS):
            version = edit(client, uri, line, version, on, off)
        quiet(client, 60)
        each = (cpu(client) - before) / EDITS / 2
        print(f"  {name:26} edit -> {show('shown', on)} · {show('gone', off)} · {each:.1f} CPU s per edit", flush=True)
    over.set()
    memory = re.search(r"VmHWM:\s*(\d+)", pathlib.Path(f"/proc/{client.process.pid}/status").read_text())
    print(f"  {show('hover', hovers)} · peak {int(memory.group(1)) >> 10} MB", flush=True)
    client.close(10)


def main():
    folder, words = pathlib.Path(sys.argv[1]), sys.argv[2:]
    for file, names in FILES:
        path = (folder / file).resolve()
        if path.exists() and (not words or any(word in file for word in words)):
            measure(path, names)


main()
