#!/usr/bin/env python3
"""What `genscope serve` costs while a run of 64 ranks and 8 GPUs is watched, and whether the run notices.

serve.py [--seconds N]   N: of each measurement; default 20

Needs build/release (genscope, ranks_of_a_run); the GPUs are those of build/dev/nvml_double, if it was built.
CPU is of the server alone, in percent of one core, by /proc/PID/stat.
"""
import argparse
import http.client
import json
import os
import pathlib
import re
import subprocess
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = ROOT / "build/release/bin"
DOUBLE = ROOT / "build/dev/nvml_double/550/libnvidia-ml.so.1"
RANKS, GPUS, VIEWERS = 64, 8, 200
SCENARIO = f"""devices {GPUS}
* memory.total 85899345920
* memory.used ramp 0:1e10 600:8e10
* memory.free 42949672960
* busy.gpu ramp 0:20 600:95
* power ramp 0:100000 600:600000
* limit 700000
* temperature 61
* clock.0 1900
* clock.2 2600
* throttle 4
"""


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Viewer(threading.Thread):
    """Reads a run's stream to its end."""

    def __init__(self, port, path):
        super().__init__(daemon=True)
        self.port, self.path, self.bytes = port, path, 0

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        connection.request("GET", self.path)
        answer = connection.getresponse()
        while piece := answer.fp.read1(1 << 16):
            self.bytes += len(piece)


def row(what, value, bar=""):
    print(f"{what:<58}{value:>14}   {bar}", flush=True)


def measure(server, seconds):
    before, began = cpu_seconds(server.pid), time.monotonic()
    time.sleep(seconds)
    return 100 * (cpu_seconds(server.pid) - before) / (time.monotonic() - began)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seconds", type=float, default=20)
    seconds = options.parse_args().seconds
    with tempfile.TemporaryDirectory() as scratch:
        environment = dict(os.environ)
        if DOUBLE.exists():
            (pathlib.Path(scratch) / "gpus").write_text(SCENARIO)
            environment["GENSCOPE_NVML_LIBRARY"] = str(DOUBLE)
            environment["GENSCOPE_NVML_SCENARIO"] = f"{scratch}/gpus"
        run = subprocess.Popen(
            [BIN / "genscope", "run", "--run-dir", f"{scratch}/runs/it", "--live", "never", "--",
             BIN / "ranks_of_a_run", str(RANKS)], env=environment, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        time.sleep(5)
        server = subprocess.Popen([BIN / "genscope", "serve", f"{scratch}/runs"], text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        url = server.stdout.readline()
        port, token = re.search(r":(\d+)/\?token=(\w+)", url).groups()
        path = f"/api/v1/runs/it/stream?token={token}"
        row("what", "value", "bar")
        row("nobody looks", f"{measure(server, seconds / 2):.2f} %")
        first = Viewer(int(port), path)
        first.start()
        time.sleep(2)
        row(f"one viewer, {RANKS} ranks, {GPUS if DOUBLE.exists() else 'no'} GPUs",
            f"{measure(server, seconds):.2f} %", "5 %")
        row("of that, sent to the viewer", f"{first.bytes / (seconds + 2) / 1e3:.1f} kB/s")
        others = [Viewer(int(port), path) for _ in range(VIEWERS - 1)]
        for viewer in others:
            viewer.start()
        time.sleep(2)
        row(f"{VIEWERS} viewers", f"{measure(server, seconds):.2f} %")
        run.terminate()
        run.wait()
        connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=120)
        connection.request("GET", f"/api/v1/runs/it/report.json?token={token}")
        report = json.loads(connection.getresponse().read())
        row("spans that the recorders dropped", report["recorder"]["dropped"], "0")
        row("of spans recorded", report["recorder"]["spans"])
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
