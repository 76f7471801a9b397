"""Solves a plan on a cluster that Dask schedules.

    proofline-batch --scheduler tcp://HOST:8786 PLAN

sends the jobs of a plan (``proofline plan PLAN -- …``) to the workers, and puts their answers into the plan, from which ``proofline merge PLAN``
makes the report. Workers need this package, and nothing of the project. They may come, go and be killed: a job whose worker is gone is given
to another one, and what is answered already is not asked again. A team's store is the workers' ``PROOFLINE_STORE``.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import zlib

from proofline_c import program


def pack(plan, number, after=()):
    """A job with the texts that it names and the answers that it reads, as bytes: what a worker has to know."""
    with open(os.path.join(plan, "jobs", number + ".json"), "rb") as file:
        job = file.read()
    texts = {}
    for name in json.loads(job)["texts"].values():
        with open(os.path.join(plan, "texts", name), "rb") as file:
            texts[name] = file.read().decode("latin-1")
    answers = {}
    for part in after:
        with open(os.path.join(plan, "answers", part), "rb") as file:
            answers[part] = file.read().decode("latin-1")
    return zlib.compress(json.dumps({"job": job.decode(), "texts": texts, "answers": answers}).encode())


def solve(number, packed):
    """Solves a job in a scratch folder. The answer's bytes, and the processor time that it took, in seconds."""
    unpacked = json.loads(zlib.decompress(packed))
    with tempfile.TemporaryDirectory() as plan, tempfile.TemporaryFile() as said:
        files = {os.path.join("jobs", number + ".json"): unpacked["job"].encode()}
        for folder in ["texts", "answers"]:
            for name, text in unpacked[folder].items():
                files[os.path.join(folder, name)] = text.encode("latin-1")
        for name, content in files.items():
            path = os.path.join(plan, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(content)
        process = subprocess.Popen([program(), "solve", plan, number], stdout=subprocess.DEVNULL, stderr=said)
        # Of this process and its own children: a worker may solve several jobs at a time.
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            said.seek(0)
            raise RuntimeError(f"job {number}: {said.read().decode(errors='replace').strip()}")
        with open(os.path.join(plan, "answers", number), "rb") as file:
            return file.read(), used.ru_utime + used.ru_stime


def head(answer):
    """What an answer says of itself: which job it answers, and what that cost. Nothing, if it is none."""
    try:
        found = json.loads(answer.split(b"\n", 1)[0])
        return found if isinstance(found, dict) else {}
    except ValueError:
        return {}


def is_open(plan, number):
    """Whether a job has no answer yet. What lies there and does not say that it answers this job is none."""
    try:
        with open(os.path.join(plan, "answers", number), "rb") as file:
            return head(file.readline())["job"] != number
    except (OSError, KeyError):
        return True


def keep(plan, number, answer):
    """Puts an answer into the plan: whole, or not at all."""
    folder = os.path.join(plan, "answers")
    os.makedirs(folder, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
        file.write(answer)
    os.replace(file.name, os.path.join(folder, number))


def title(job):
    """A job for people, in a line."""
    part = f" ({job['part']})" if "part" in job else ""
    return f"{job['number']} {job['name']}".rstrip() + part


class Cost:
    """What the jobs that are done took together."""

    def __init__(self):
        self.seconds, self.megabytes = 0.0, 0

    def add(self, seconds, megabytes):
        """One more: times add up, and the largest job says how much memory a worker needs."""
        self.seconds += seconds
        self.megabytes = max(self.megabytes, megabytes)

    def __str__(self):
        return f"{self.seconds:.2f} CPU s, largest job {self.megabytes} MB"


def main():
    """The command ``proofline-batch``."""
    parser = argparse.ArgumentParser(prog="proofline-batch", description="Solves a plan on a cluster that Dask schedules.")
    parser.add_argument("plan", metavar="PLAN", help="the folder of a plan (`proofline plan`)")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="of Dask, such as tcp://HOST:8786 (default: workers on this machine)")
    parser.add_argument("--retries", type=int, default=5, help="how often a job is given to another worker (default: 5)")
    given = parser.parse_args()
    try:
        from distributed import Client, as_completed
    except ImportError:
        sys.exit("error: Dask is not installed\n  help: pip install 'proofline-c[batch]'")
    try:
        with open(os.path.join(given.plan, "plan.json"), "rb") as file:
            jobs = json.load(file)["jobs"]
    except (OSError, ValueError, KeyError) as error:
        sys.exit(f"error: {given.plan} is no plan: {error}\n  help: proofline plan {given.plan} -- FILE…")
    todo = [job for job in jobs if is_open(given.plan, job["number"])]
    began, cost, failed = time.monotonic(), Cost(), 0
    client = Client(given.scheduler) if given.scheduler else Client(threads_per_worker=1)
    with client:
        # Parts of a program come before what is left of it, which waits for the answers of all of them.
        open_parts = {job["number"] for job in todo}
        waits = [job for job in todo if open_parts.intersection(job.get("after", ()))]
        asked, queue = {}, as_completed()

        def ask(job):
            packed = pack(given.plan, job["number"], [part for part in job.get("after", ()) if not is_open(given.plan, part)])
            # The largest first.
            future = client.submit(solve, job["number"], packed, retries=given.retries, priority=job["bytes"], pure=False)
            asked[future] = job
            queue.add(future)

        for job in todo:
            if job not in waits:
                ask(job)
        for count, future in enumerate(queue, 1):
            job = asked.pop(future)
            number = job["number"]
            try:
                answer, seconds = future.result()
            except Exception as error:  # What a worker says, whatever it is, is for people to read.
                failed += 1
                print(f"error: {error}", file=sys.stderr)
            else:
                keep(given.plan, number, answer)
                megabytes = head(answer).get("megabytes") or 0
                cost.add(seconds, megabytes)
                print(f"{count} of {len(todo)}: {title(job)} ({seconds:.2f} CPU s, {megabytes} MB); so far {cost}", flush=True)
            open_parts.discard(number)
            for ready in [one for one in waits if not open_parts.intersection(one["after"])]:
                waits.remove(ready)
                ask(ready)
    elapsed = time.monotonic() - began
    print(f"{len(todo) - failed} jobs solved in {elapsed:.1f} s: {cost}; {len(jobs) - len(todo)} were solved before")
    if failed:
        sys.exit(f"error: {failed} jobs have no answer; what failed is above")
    print(f"the report: proofline merge {given.plan}")


if __name__ == "__main__":
    main()
