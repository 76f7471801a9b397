"""A plan that a cluster solves: workers are killed meanwhile, and the report is the one of a check on this machine."""

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("PROOFLINE", str(ROOT / "target/debug/proofline"))
BATCH = [sys.executable, "-m", "proofline_c.batch"]

# Each program needs a second or so.
TEXT = """
#include <assert.h>
extern int in(void);
int main(void) {
  int n = in(), x = 0, y = 0, z = NUMBER;
  if (n < 0 || n > 1000) return 0;
  while (x < n) { x++; y += 2; }
  assert(y == 2 * x);
  return 100 / (z % 4);
}
"""


def project(folder, programs):
    entries = []
    for number in range(programs):
        name = f"p{number}.c"
        (folder / name).write_text(TEXT.replace("NUMBER", str(number)))
        entries.append({"directory": str(folder), "file": name, "arguments": ["cc", "-c", name]})
    (folder / "compile_commands.json").write_text(json.dumps(entries))


def run(folder, *arguments):
    return subprocess.run([PROGRAM, *arguments], cwd=folder, capture_output=True, text=True, timeout=300)


def environment(tmp_path):
    """The package as it is in the repository, with the program where it looks for it."""
    package = tmp_path / "package"
    (package / "bin").mkdir(parents=True)
    (package / "proofline_c").symlink_to(ROOT / "packages/python/proofline_c")
    (package / "bin/proofline").symlink_to(PROGRAM)
    libraries = str(ROOT / ".z3/lib")
    return {**os.environ, "PYTHONPATH": str(package), "LD_LIBRARY_PATH": libraries}


def kill(process):
    """Ends a process and what it started. (A worker that is asked to end talks to its scheduler first, which may be gone.)"""
    if process.poll() is None:
        tree = psutil.Process(process.pid).children(recursive=True)
        process.kill()
        for child in tree:
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()
    process.wait(timeout=30)


def test_a_cluster_whose_workers_are_killed(tmp_path):
    here = tmp_path / "project"
    here.mkdir()
    project(here, 8)
    whole = run(here, "check", "--no-cache", "--format", "json", ".")
    assert run(here, "plan", "plan", "--", "--format", "json", ".").returncode == 0
    env = environment(tmp_path)
    port = 20000 + os.getpid() % 20000
    address = f"tcp://127.0.0.1:{port}"
    scheduler = subprocess.Popen([sys.executable, "-m", "dask", "scheduler", "--host", "127.0.0.1", "--port", str(port), "--dashboard-address", ":0"], env=env, stderr=subprocess.DEVNULL)
    worker = [sys.executable, "-m", "dask", "worker", address, "--nthreads", "1", "--nworkers", "1", "--local-directory", str(tmp_path), "--dashboard-address", ":0"]
    workers = [subprocess.Popen(worker, env=env, stderr=subprocess.DEVNULL) for _ in range(2)]
    try:
        solved = subprocess.Popen([*BATCH, "--scheduler", address, "plan"], cwd=here, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        first = solved.stdout.readline()
        kill(workers[0])
        workers.append(subprocess.Popen(worker, env=env, stderr=subprocess.DEVNULL))
        rest, _ = solved.communicate(timeout=300)
        assert solved.returncode == 0, first + rest
        assert "8 jobs solved" in rest
    finally:
        for process in [*workers, scheduler]:
            kill(process)
    merged = run(here, "merge", "plan")
    assert (merged.returncode, merged.stdout) == (whole.returncode, whole.stdout)
