"""Plans that others solve: a cluster whose workers are killed meanwhile, and Ninja. The report is the one of a check on this machine."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

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
    folder.mkdir()
    entries = []
    for number in range(programs):
        name = f"p{number}.c"
        (folder / name).write_text(TEXT.replace("NUMBER", str(number)))
        entries.append({"directory": str(folder), "file": name, "arguments": ["cc", "-c", name]})
    (folder / "compile_commands.json").write_text(json.dumps(entries))


def run(folder, *arguments):
    return subprocess.run([PROGRAM, *arguments], cwd=folder, capture_output=True, text=True, timeout=300)


def planned(folder, plan="plan"):
    """Writes a plan of all programs. The numbers of its jobs, by the names of their programs."""
    made = run(folder, "plan", "--ninja", str(plan), "--", ".")
    assert made.returncode == 0, made.stderr
    return {job["name"]: job["number"] for job in json.loads((folder / plan / "plan.json").read_text())["jobs"]}


def files(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def lines(text):
    """In no order: programs are checked side by side, and as text each is printed when it is done, beside others."""
    return sorted(text.splitlines())


def without_engines(text):
    """A result in JSON that does not say which engine has proved what: with a store, it may be the one that recalls what another machine has found."""
    return re.sub(r'"(by|decided_by)": ("[^"]*"|null)', r'"\1": "-"', text)


def assert_that_merge_says_what_check_says(folder, plan="plan", store=False):
    """In every format, byte for byte. A page says what engines took: nothing here, as in a check that knows everything from before."""
    for form in ["text", "json", "sarif"]:
        whole = run(folder, "check", "--no-cache", "--format", form, ".")
        merged = run(folder, "merge", str(plan), "--format", form)
        said = [lines(one.stdout) if form == "text" else one.stdout for one in (merged, whole)]
        if store:
            said = [without_engines(text) if form == "json" else text for text in said]
        assert said[0] == said[1], form
        assert (merged.returncode, merged.stderr) == (whole.returncode, whole.stderr), form
    if store:
        return
    for _ in range(2):
        run(folder, "check", "--cache", "cache", "--html", "here", ".")
    run(folder, "merge", str(plan), "--html", "merged")
    assert Path("index.html") in files(folder / "here")
    assert files(folder / "merged") == files(folder / "here")


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


COST = r"([0-9.]+) CPU s, (?:largest job )?([0-9]+) MB"
DONE = re.compile(rf"(\d+) of (\d+): ([0-9a-f]{{16}}) (\S+) \({COST}\); so far {COST}")


def assert_that_cost_is_told(lines, jobs):
    """A line for each job that is done: how many are, what this one took, and what all took so far."""
    seconds, megabytes, names = 0.0, 0, set()
    for count, line in enumerate(lines, 1):
        done, of, _, name, own_seconds, own_megabytes, all_seconds, largest = DONE.fullmatch(line).groups()
        names.add(name)
        seconds, megabytes = seconds + float(own_seconds), max(megabytes, int(own_megabytes))
        assert (int(done), int(of), int(largest)) == (count, jobs, megabytes)
        # Each number is rounded to a hundredth.
        assert float(all_seconds) == pytest.approx(seconds, abs=0.005 * (count + 1) + 1e-6)
    assert len(names) == jobs and seconds > 0 and megabytes > 1


def test_a_cluster_whose_workers_are_killed(tmp_path):
    here = tmp_path / "project"
    project(here, 8)
    planned(here)
    # Workers share what they find with a team.
    env = {**environment(tmp_path), "PROOFLINE_STORE": str(tmp_path / "shared")}
    port = 20000 + os.getpid() % 20000
    address = f"tcp://127.0.0.1:{port}"
    scheduler = subprocess.Popen([sys.executable, "-m", "dask", "scheduler", "--host", "127.0.0.1", "--port", str(port), "--dashboard-address", ":0"], env=env, stderr=subprocess.DEVNULL)
    worker = [sys.executable, "-m", "dask", "worker", address, "--nthreads", "1", "--nworkers", "1", "--local-directory", str(tmp_path), "--dashboard-address", ":0"]
    workers = [subprocess.Popen(worker, env=env, stderr=subprocess.DEVNULL) for _ in range(2)]
    try:
        # What Dask says of workers that are gone is no line of ours.
        aside = tmp_path / "aside"
        with aside.open("w") as errors:
            solved = subprocess.Popen([*BATCH, "--scheduler", address, "plan"], cwd=here, env=env, stdout=subprocess.PIPE, stderr=errors, text=True)
        first = solved.stdout.readline()
        kill(workers[0])
        workers.append(subprocess.Popen(worker, env=env, stderr=subprocess.DEVNULL))
        rest, _ = solved.communicate(timeout=300)
        assert solved.returncode == 0, first + rest + aside.read_text()
    finally:
        for process in [*workers, scheduler]:
            kill(process)
    *done, total, report = (first + rest).splitlines()
    assert_that_cost_is_told(done, 8)
    so_far = done[-1].split("so far ")[1]
    assert re.fullmatch(rf"8 jobs solved in [0-9.]+ s: {so_far}; 0 were solved before", total)
    assert report == "the report: proofline merge plan"
    assert files(tmp_path / "shared")
    assert_that_merge_says_what_check_says(here, store=True)


def batch(folder, env):
    """On workers of this machine."""
    done = subprocess.run([*BATCH, "plan"], cwd=folder, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_answers_of_an_older_plan_are_not_taken_for_new_ones(tmp_path):
    here, env = tmp_path / "project", environment(tmp_path)
    project(here, 2)
    first = planned(here)
    assert "2 jobs solved" in batch(here, env)
    (here / "p1.c").write_text(TEXT.replace("NUMBER", "5"))
    second = planned(here)
    assert second["p0.c"] == first["p0.c"] and second["p1.c"] != first["p1.c"]
    said = batch(here, env)
    assert "1 of 1" in said and "1 were solved before" in said
    assert_that_merge_says_what_check_says(here)
    # What lies under a job's name is its answer only if it says so.
    answers = here / "plan/answers"
    shutil.copy(answers / second["p0.c"], answers / second["p1.c"])
    assert "1 of 1" in batch(here, env)
    assert run(here, "merge", "plan").returncode == 1
    assert "0 jobs solved" in batch(here, env)


def ninja(plan, *arguments):
    done = subprocess.run([Path(sys.executable).with_name("ninja"), "-C", str(plan), *arguments], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_ninja_does_what_has_changed(tmp_path):
    here = tmp_path / "project"
    plan = here / "plan"
    project(here, 3)
    planned(here)
    assert "[3/3]" in ninja(plan)
    assert "no work to do" in ninja(plan)
    planned(here)
    assert "no work to do" in ninja(plan)
    (here / "p1.c").write_text(TEXT.replace("NUMBER", "5"))
    number = planned(here)["p1.c"]
    said = ninja(plan)
    assert "[1/1]" in said and number in said
    assert_that_merge_says_what_check_says(here)


def test_what_is_solved_stays_solved_in_a_copy_of_the_plan(tmp_path):
    """A copy's files are as old as the copy. What is there is looked at once, and asked no more."""
    here, copy = tmp_path / "project", tmp_path / "copy"
    project(here, 2)
    planned(here)
    ninja(here / "plan")
    shutil.copytree(here / "plan", copy)
    before = files(copy / "answers")
    for text in (copy / "texts").iterdir():
        text.touch()
    assert "[2/2]" in ninja(copy)
    assert "no work to do" in ninja(copy)
    assert files(copy / "answers") == before


def test_an_edge_names_all_that_it_reads(tmp_path):
    """Its command is run where nothing but that is, as a service for remote execution does."""
    here, away = tmp_path / "project", tmp_path / "away"
    project(here, 2)
    numbers = planned(here, "../plan")
    plan = tmp_path / "plan"
    here.rename(away)
    for number in numbers.values():
        alone = tmp_path / number
        for name in ninja(plan, "--quiet", "-t", "inputs", f"answers/{number}").splitlines():
            (alone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(plan / name, alone / name)
        command = ninja(plan, "--quiet", "-t", "commands", f"answers/{number}")
        subprocess.run(command, shell=True, cwd=alone, check=True, timeout=300)
        (plan / "answers").mkdir(exist_ok=True)
        (alone / "answers" / number).rename(plan / "answers" / number)
    away.rename(here)
    assert_that_merge_says_what_check_says(here, "../plan")


def test_ninja_solves_with_another_command(tmp_path):
    here = tmp_path / "project"
    project(here, 2)
    numbers = planned(here)
    own = tmp_path / "own"
    own.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/commands\nexec {PROGRAM} "$@"\n')
    own.chmod(0o755)
    (here / "plan/own.ninja").write_text(f"include build.ninja\nproofline = {own}\n")
    assert "[2/2]" in ninja(here / "plan", "-f", "own.ninja")
    commands = (tmp_path / "commands").read_text().splitlines()
    assert sorted(commands) == sorted(f"solve . {number}" for number in numbers.values())
    assert run(here, "merge", "plan").returncode == 1


def library(folder, functions=24):
    """A project of one library, which is several jobs, and of one program."""
    project(folder, 1)
    text = "static int half(int n) { return 100 / n; }\n" + "".join(
        f"int f{number}(int x, const int *a) {{\n  int s = 0;\n  for (int i = 0; i < {number}; i++) s += half(i + 1);\n  return s + *a + 7 / (x - {number});\n}}\n" for number in range(functions)
    )
    (folder / "library.c").write_text(text)
    entries = json.loads((folder / "compile_commands.json").read_text())
    entries.append({"directory": str(folder), "file": "library.c", "arguments": ["cc", "-c", "library.c"]})
    (folder / "compile_commands.json").write_text(json.dumps(entries))


def test_parts_of_a_library(tmp_path):
    """On workers, and by Ninja: what is left of the library comes when its parts are done."""
    here = tmp_path / "project"
    library(here)
    planned(here)
    said = batch(here, environment(tmp_path))
    assert "5 jobs solved" in said
    done = [line for line in said.splitlines() if "library.c" in line]
    assert sorted(re.findall(r"library.c \((\d of \d)\)", said)) == ["1 of 3", "2 of 3", "3 of 3"]
    assert re.search(r"library.c \([0-9.]+ CPU s", done[-1]), said
    assert_that_merge_says_what_check_says(here)
    shutil.rmtree(here / "plan/answers")
    assert "[5/5]" in ninja(here / "plan")
    assert_that_merge_says_what_check_says(here)
