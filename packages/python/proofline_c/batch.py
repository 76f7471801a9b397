"""Solves a plan on a cluster that Dask schedules.

    proofline-batch --scheduler tcp://HOST:8786 PLAN

sends the jobs of a plan (``proofline plan PLAN -- …``) to the workers, and puts their answers into the plan, from which ``proofline merge PLAN``
makes the report. Workers need this package, and nothing of the project. They may come, go and be killed: a job whose worker is gone is given
to another one, and what is answered already is not asked again.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import zlib

from proofline_c import program


def pack(plan, planned):
    """A job with the texts that it names, as bytes: what a worker has to know."""
    with open(os.path.join(plan, "jobs", planned["number"] + ".json"), "rb") as file:
        job = file.read()
    texts = {}
    for name in json.loads(job)["texts"].values():
        with open(os.path.join(plan, "texts", name), "rb") as file:
            texts[name] = file.read().decode("latin-1")
    return zlib.compress(json.dumps({"job": job.decode(), "texts": texts}).encode())


def solve(engines, planned, packed):
    """Solves a job in a scratch folder. The answer's bytes, and the processor time that it took."""
    unpacked = json.loads(zlib.decompress(packed))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as plan:
        files = {"plan.json": json.dumps({"engines": engines, "check": [], "jobs": [planned]}).encode()}
        files[os.path.join("jobs", planned["number"] + ".json")] = unpacked["job"].encode()
        for name, text in unpacked["texts"].items():
            files[os.path.join("texts", name)] = text.encode("latin-1")
        for name, content in files.items():
            path = os.path.join(plan, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(content)
        done = subprocess.run([program(), "solve", plan], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode != 0:
            raise RuntimeError(f"job {planned['number']}: {done.stderr.decode(errors='replace').strip()}")
        with open(os.path.join(plan, "answers", planned["number"]), "rb") as file:
            answer = file.read()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return answer, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def keep(plan, number, answer):
    """Puts an answer into the plan: whole, or not at all."""
    folder = os.path.join(plan, "answers")
    os.makedirs(folder, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
        file.write(answer)
    os.replace(file.name, os.path.join(folder, number))


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
            plan = json.load(file)
        engines, jobs = plan["engines"], plan["jobs"]
    except (OSError, ValueError, KeyError) as error:
        sys.exit(f"error: {given.plan} is no plan: {error}\n  help: proofline plan {given.plan} -- FILE…")
    is_open = lambda job: not os.path.exists(os.path.join(given.plan, "answers", job["number"]))
    todo = sorted(filter(is_open, jobs), key=lambda job: -job["bytes"])
    began, seconds, failed = time.monotonic(), 0.0, 0
    client = Client(given.scheduler) if given.scheduler else Client(threads_per_worker=1)
    with client:
        ask = lambda job: client.submit(solve, engines, job, pack(given.plan, job), retries=given.retries, pure=False)
        asked = {ask(job): job for job in todo}
        for count, future in enumerate(as_completed(asked), 1):
            job = asked[future]
            try:
                answer, took = future.result()
            except Exception as error:  # What a worker says, whatever it is, is for people to read.
                failed += 1
                print(f"error: {error}", file=sys.stderr)
                continue
            seconds += took
            keep(given.plan, job["number"], answer)
            print(f"{count} of {len(todo)}: {job['number']} {job['name']} ({took:.1f} CPU s)", flush=True)
    elapsed = time.monotonic() - began
    print(f"{len(todo) - failed} jobs solved in {elapsed:.1f} s, {seconds:.1f} CPU s; {len(jobs) - len(todo)} were solved before")
    if failed:
        sys.exit(f"error: {failed} jobs have no answer; what failed is above")
    print(f"the report: proofline merge {given.plan}")


if __name__ == "__main__":
    main()
