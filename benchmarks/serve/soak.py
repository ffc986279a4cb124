#!/usr/bin/env python3
"""A run of 10,000 spans a second under `genscope run --serve`, watched, scraped and asked for reports all the while.

soak.py [--seconds N] [--rate N] [--build DIR]   default: 300 s at 10,000, build/release

Nothing may be lost, and the memory of genscope, server included, may not grow: the highest of the last half is compared with
the highest of the second quarter (the first fills the buffers). Exit code 1 if either fails.
"""
import argparse
import http.client
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
GROWTH_MB = 8


class Client:
    def __init__(self, address):
        self.port, self.run, self.token = re.search(r":(\d+)/runs/([^?]+)\?token=(\w+)", address).groups()

    def get(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", int(self.port), timeout=60)
        connection.request("GET", path, headers={"Authorization": f"Bearer {self.token}"})
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, body

    def watch(self, counts):
        """Reads the stream to its end."""
        connection = http.client.HTTPConnection("127.0.0.1", int(self.port), timeout=60)
        connection.request("GET", f"/api/v1/runs/{self.run}/stream",
                           headers={"Authorization": f"Bearer {self.token}"})
        answer = connection.getresponse()
        for line in answer.fp:
            counts["events"] += line.startswith(b"id:")


def memory(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"RssAnon:\s+(\d+)", status)[1]) / 1024


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seconds", type=int, default=300)
    options.add_argument("--rate", type=int, default=10_000)
    options.add_argument("--build", default=str(ROOT / "build/release"))
    given = options.parse_args()
    bin_dir = pathlib.Path(given.build) / "bin"
    with tempfile.TemporaryDirectory() as scratch:
        run = subprocess.Popen(
            [bin_dir / "genscope", "run", "--serve", "--linger", "--live", "never", "--no-gpu", "--run-dir",
             f"{scratch}/it", "--", bin_dir / "steady_spans", str(given.rate), str(given.seconds)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        client = Client(run.stderr.readline())
        threading.Thread(target=lambda: [None for _ in run.stderr], daemon=True).start()
        counts = {"events": 0}
        viewers = [threading.Thread(target=client.watch, args=(counts,), daemon=True) for _ in range(5)]
        for viewer in viewers:
            viewer.start()
        made, used, scrapes, slowest = [], [], 0, 0.0
        reader = threading.Thread(target=lambda: made.append(int(run.stdout.readline())))
        reader.start()
        while reader.is_alive():
            began = time.monotonic()
            status, _ = client.get("/metrics")
            slowest = max(slowest, time.monotonic() - began)
            scrapes += status == 200
            used.append(memory(run.pid))
            time.sleep(1)
        for viewer in viewers:
            viewer.join(30)
        _, body = client.get(f"/api/v1/runs/{client.run}/report.json")
        report = json.loads(body)
        run.terminate()
        run.wait()
    quarter = len(used) // 4
    growth = max(used[2 * quarter:]) - max(used[quarter:2 * quarter])
    spans, dropped = report["recorder"]["spans"], report["recorder"]["dropped"]
    print(f"spans made {made[0]}, recorded {spans}, dropped {dropped}")
    print(f"scrapes {scrapes}, the slowest {slowest * 1e3:.0f} ms; events read {counts['events']} by {len(viewers)} viewers")
    print(f"genscope's own memory: {used[0]:.1f} MB at first, {max(used):.1f} MB at most, {used[-1]:.1f} MB at last; "
          f"growth after the first half {growth:+.1f} MB (at most {GROWTH_MB})")
    return int(spans != made[0] or dropped != 0 or growth > GROWTH_MB)


if __name__ == "__main__":
    sys.exit(main())
