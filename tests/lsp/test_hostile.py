"""A folder that was downloaded: nothing of it runs that was not asked for, and what runs keeps to itself."""

import json
import os
import subprocess

import pytest
from client import PROOFLINE


def has_sandbox():
    return subprocess.run([PROOFLINE, "confined", "--scratch", "/tmp"], capture_output=True).returncode == 0


needs_sandbox = pytest.mark.skipif(not has_sandbox(), reason="this kernel has no Landlock")


def run_test(client, uri):
    (finding,) = [d["data"]["finding"] for d in client.diagnostics(uri) if "data" in d]
    arguments = [{"uri": uri, "finding": finding}]
    return client.ask("workspace/executeCommand", {"command": "proofline.test", "arguments": arguments}, 60)


FAILS = "int zero;\nint main(void) {\n    return 1 / zero;\n}\n"


@pytest.mark.parametrize("flags", [["-wrapper", "{folder}/evil"], ["-B{folder}/"], ["@{folder}/flags"], ["-specs={folder}/specs"], ["-fplugin={folder}/evil.so"]])
@pytest.mark.parametrize("where", ["database", "settings"])
def test_flags_that_name_programs_start_none(server, tmp_path, flags, where):
    marker = tmp_path / "it-ran"
    evil = tmp_path / "evil"
    evil.write_text(f'#!/bin/sh\ntouch {marker}\nexec "$@"\n')
    for name in ["as", "cc1", "collect2", "evil.so"]:
        (tmp_path / name).write_text(evil.read_text())
    (tmp_path / "flags").write_text(f"-wrapper {evil}\n")
    (tmp_path / "specs").write_text(f"*cc1:\n-wrapper {evil}\n")
    for path in tmp_path.iterdir():
        path.chmod(0o755)
    flags = [flag.format(folder=tmp_path) for flag in flags]
    options = {"runTests": "always"}
    if where == "settings":
        options["flags"] = flags
    else:
        command = {"directory": str(tmp_path), "file": "fails.c", "arguments": ["cc", *flags, "-c", "fails.c"]}
        (tmp_path / "compile_commands.json").write_text(json.dumps([command]))
    client = server(options=options)
    client.answers["window/showMessageRequest"] = lambda params: {"title": "Run"}
    uri = client.open(tmp_path / "fails.c", FAILS)
    client.settled(uri, 1)
    made = run_test(client, uri)
    assert made["confirmed"] is True, made
    assert not marker.exists()


EXPLORES = """#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
int main(int argc, char **argv) {
    char line[40];
    FILE *out = fopen(argv[1], "w"), *in = fopen(argv[2], "r"), *own = fopen("own", "w");
    if (out) puts("WRITTEN");
    if (in && fgets(line, sizeof line, in)) puts("READ");
    if (own) puts("own");
    if (socket(AF_INET, SOCK_STREAM, 0) >= 0 || socket(AF_UNIX, SOCK_STREAM, 0) >= 0) puts("CONNECTED");
    if (fork() >= 0) puts("FORKED");
    if (system(argv[3]) == 0) puts("STARTED");
    return 0;
}
"""


@needs_sandbox
def test_a_program_under_test_stays_in_its_sandbox(tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    secret, written, started = tmp_path / "secret", tmp_path / "written", tmp_path / "started"
    secret.write_text("do not read this\n")
    (scratch / "explores.c").write_text(EXPLORES)
    subprocess.run(["cc", "-o", "explores", "explores.c"], cwd=scratch, check=True)
    command = [scratch / "explores", written, secret, f"touch {started}"]
    free = subprocess.run(command, cwd=scratch, capture_output=True, text=True).stdout
    assert {"WRITTEN", "READ", "CONNECTED", "FORKED", "STARTED"} <= set(free.split())
    written.unlink()
    started.unlink()
    confined = subprocess.run([PROOFLINE, "confined", "--scratch", scratch, "--", *command], cwd=scratch, capture_output=True, text=True)
    assert (confined.returncode, confined.stdout.split(), confined.stderr) == (0, ["own"], "")
    assert not written.exists() and not started.exists()


@needs_sandbox
def test_permission_is_asked_once_for_a_folder(server, tmp_path):
    client = server(options={"runTests": "ask"})
    asked = []

    def answer(params):
        asked.append(params["message"])
        return {"title": "Run, and do not ask again for this folder"}

    client.answers["window/showMessageRequest"] = answer
    uri = client.open(tmp_path / "fails.c", FAILS)
    client.settled(uri, 1)
    assert run_test(client, uri)["confirmed"] is True
    assert run_test(client, uri)["confirmed"] is True
    assert len(asked) == 1 and "sandbox" in asked[0]


def test_nobody_is_asked_about_a_test_that_cannot_be_written(server, tmp_path):
    client = server(options={"runTests": "ask"})
    asked = []
    client.answers["window/showMessageRequest"] = lambda params: asked.append(params["message"])
    uri = client.open(tmp_path / "fails.c", "extern volatile int reg;\nint main(void) {\n    return 10 / reg;\n}\n")
    client.settled(uri, 1)
    with pytest.raises(AssertionError, match="no test can be written"):
        run_test(client, uri)
    assert asked == []


def test_a_name_with_line_breaks_stays_one_name(server, tmp_path):
    client = server(options={"runTests": "ask"})
    folder = tmp_path / "a\nContent-Length: 5\r\n"
    folder.mkdir()
    uri = client.open((folder / "b\n.c").as_uri(), FAILS)
    client.settled(uri, 1)
    assert [d["code"] for d in client.diagnostics(uri) if "code" in d] == ["division-by-zero"]
    assert not client.malformed
    published = {m["params"]["uri"] for m in client.messages if m.get("method") == "textDocument/publishDiagnostics"}
    assert all("\n" not in published_uri for published_uri in published)


def test_files_that_never_end_keep_nobody_waiting(server, tmp_path):
    os.mkfifo(tmp_path / "pipe.c")
    os.mkfifo(tmp_path / "pipe.h")
    (tmp_path / "zero.h").symlink_to("/dev/zero")
    with open(tmp_path / "large.h", "wb") as large:
        large.truncate(10 << 30)
    (tmp_path / "compile_commands.json").symlink_to("/dev/zero")
    client = server(options={"runTests": "ask"}, params={"rootUri": tmp_path.as_uri()})
    for number, header in enumerate(["pipe.h", "zero.h", "large.h"]):
        uri = client.open(tmp_path / f"main{number}.c", f'#include "{header}"\nint unknown(void);\n{FAILS}')
        client.settled(uri, 1)
        assert any(header in d["message"] for d in client.diagnostics(uri)), header
