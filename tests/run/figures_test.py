#!/usr/bin/env python3
"""One run, every output: a figure that stands in several of them is the same figure. The summary of
`run`, text, JSON, Markdown, CSV, the page's data; and what `top` and `/metrics` say while it runs."""
import base64
import csv
import gzip
import io
import json
import os
import pathlib
import re
import struct
import subprocess
import unittest
import urllib.request

from support import BIN, PATIENCE, TINYDIFF, RunCase, wait_until

DOUBLE = os.environ.get("NVML_DOUBLE", "")
SCENARIO = pathlib.Path(__file__).resolve().parents[1] / "nvml_double" / "two_gpus.scenario"
UNITS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30,
         "%": 0.01, "J": 1, "Wh": 3600, "W": 1, "C": 1, "": 1}
FIGURE = r"([\d.,]+) ?(ns|us|ms|s|[KMG]?i?B|%|J|Wh|W|C)?(?![\w/])"


def page_report(html):
    """The report that is in a page's data, as docs/page-data.md has it."""
    data = re.search(rb'id="genscope-data">([^<]+)<', html)[1]
    container = gzip.decompress(base64.b64decode(data))
    assert container[:8] == b"GSPAGE1\0"
    (length,) = struct.unpack("<I", container[8:12])
    return json.loads(container[12:12 + length])["report"]


class Figures(RunCase):
    def setUp(self):
        super().setUp()
        if not os.path.exists(DOUBLE):
            self.skipTest(f"the double is not built: {DOUBLE}")
        self.env["GENSCOPE_NVML_LIBRARY"] = DOUBLE
        self.env["GENSCOPE_NVML_SCENARIO"] = str(SCENARIO)

    def report(self, run, form):
        done = subprocess.run([BIN, "report", str(run), "--full", "-f", form, "-o", "-"], env=self.env,
                              stdout=subprocess.PIPE, timeout=PATIENCE, check=True)
        return done.stdout

    def same(self, text, pattern, value, what):
        """The figure after `pattern` in a text is `value` to the digits that it has."""
        found = re.search(pattern + FIGURE, text)
        self.assertIsNotNone(found, f"{what}: no {pattern!r} in\n{text}")
        digits, unit = found[1].replace(",", ""), found[2] or ""
        last = 10.0 ** -len(digits.partition(".")[2]) * UNITS[unit]
        if "." not in digits and len(digits) > 3:  # three significant ones, then zeros
            last = 10.0 ** (len(digits) - 3) * UNITS[unit]
        self.assertAlmostEqual(float(digits) * UNITS[unit], value, delta=last * 0.51 + 1e-9,
                               msg=f"{what}: {found[0]!r} is not {value}")

    def test_every_output_of_a_run_says_the_same(self):
        run = self.dir / "run"
        work = "x = b'a' * 60_000_000\nfor i in range(2_000_000): i * i\nopen('/dev/null').read()"
        done = self.run_it("sh", "-c", f'python3 -c "{work}"; exec "$0" --size 64 --no-image', TINYDIFF,
                           options=("--run-dir", str(run), "--live", "never", "--full"))
        self.assertEqual(done.returncode, 0, done.stderr)
        summary = done.stderr.decode()
        text, markdown = (self.report(run, form).decode() for form in ("text", "md"))
        report = json.loads(self.report(run, "json"))
        process, gpu = report["process"], report["gpus"][0]
        outputs = {"summary": summary, "text": text, "markdown": markdown}

        def everywhere(value, **patterns):
            for output, pattern in patterns.items():
                self.same(outputs[output], pattern, value, output)

        row = r"\| {} \| "  # of the Markdown table
        everywhere(report["run"]["wall_ns"], summary=r"\n  wall +", text=r"\n  wall +",
                   markdown=row.format("wall"))
        everywhere(process["cpu_ns"], summary=r"\n  CPU +", text=r"\n  CPU +", markdown=row.format("CPU"))
        cores = process["cpu_ns"] / report["run"]["wall_ns"]
        everywhere(cores, summary=r"\n  CPU +[^,\n]+, ", text=r"\n  CPU +[^,\n]+, ",
                   markdown=row.format("CPU") + "[^,\n]+, ")
        everywhere(process["peak_rss_bytes"], summary=r"memory +peak ", text=r"\n  memory +",
                   markdown=row.format("memory"))
        everywhere(process["peak_rss_anon_bytes"], summary="resident, ", text="at the peak, ",
                   markdown="at the peak, ")
        everywhere(process["io_read_bytes"], summary=r"I/O +read ", text=r"\n  storage +",
                   markdown=row.format("storage"))
        everywhere(process["io_write_bytes"], summary="written ", text=" read, ", markdown=" read, ")
        everywhere(process["peak_processes"], summary=r"\n  processes ", text=r"\n  seen +",
                   markdown=row.format("seen"))
        everywhere(report["recorder"]["probe_cpu_ns"], summary=r"\n  probes +", text="Sampling took ")
        share = report["recorder"]["probe_cpu_ns"] / report["run"]["wall_ns"]
        everywhere(share, summary=r"of CPU, ", text="of CPU, ")
        everywhere(gpu["busy_mean_ratio"], summary="GPU 0 .*busy ")
        everywhere(gpu["temperature_max_celsius"], summary="GPU 0 .* W  ")
        everywhere(gpu["throttled_ratio"], summary="GPU 0 .*power cap ")
        joules = sum(one["energy_joules"] for one in report["gpus"])
        everywhere(joules, summary="GPUs ")
        self.same(text, r"NVIDIA H100 80GB HBM3 .* W  +", gpu["energy_joules"], "text")

        self.assertEqual(page_report(self.report(run, "html")), report)
        rows = list(csv.DictReader(io.StringIO(self.report(run, "csv").decode())))
        self.assertGreater(len(rows), 3)
        stages = {(s["name"], s["kind"]): s for s in report["stages"]}
        for one in rows:
            stage = stages[one["name"], one["kind"]]
            for key in ("count", "total_ns", "self_ns", "p50_ns", "max_ns", "failed"):
                self.assertEqual(int(one[key] or 0), stage[key] or 0, f"{one['name']} {key}")
            self.assertAlmostEqual(float(one["share"]), stage["share"])

    def test_what_is_said_while_it_runs_is_what_the_report_says(self):
        run = self.dir / "runs" / "one"
        run.parent.mkdir()
        going = self.start("sleep", "30", options=("--run-dir", str(run), "--live", "never", "--json",
                                                   str(self.dir / "report.json")))
        server = subprocess.Popen([BIN, "serve", str(run.parent), "--port", "0", "--token", "t" * 16],
                                  stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.end, server)
        url = server.stdout.readline().strip().partition("?")[0]

        def metrics():
            asked = urllib.request.Request(url + "metrics", headers={"Authorization": "Bearer " + "t" * 16})
            with urllib.request.urlopen(asked, timeout=PATIENCE) as answer:
                lines = answer.read().decode().splitlines()
            return {re.sub(r'run="one",pid="\d+",?', "", line.rpartition(" ")[0]): float(line.rpartition(" ")[2])
                    for line in lines if 'entity="' in line}

        wait_until(lambda: 'genscope_throttle_reasons{entity="GPU-0000"}' in metrics(), "reading of the GPU")
        scraped = metrics()
        top = json.loads(subprocess.run([BIN, "top", "--once", "--json"], env=self.env, timeout=PATIENCE,
                                        stdout=subprocess.PIPE, check=True).stdout)
        going.terminate()
        going.wait(PATIENCE)
        report = json.loads((self.dir / "report.json").read_text())
        for now, gpu in zip(top["gpus"], report["gpus"], strict=True):
            at = '{entity="%s"}' % gpu["id"]
            self.assertEqual(now["id"], gpu["id"])
            for live, key, name in (
                    ("memory_total_bytes", "memory_total_bytes", "genscope_memory_total_bytes"),
                    ("memory_used_bytes", "memory_peak_bytes", "genscope_memory_used_bytes"),
                    ("temperature_celsius", "temperature_max_celsius", "genscope_temperature_celsius"),
                    ("throttle_reasons", "throttle_reasons", "genscope_throttle_reasons"),
                    ("power_limit_watts", "power_limit_watts", "genscope_power_limit_watts"),
                    ("busy_ratio", "busy_mean_ratio", "genscope_busy_ratio")):
                self.assertAlmostEqual(now[live], gpu[key], msg=f"top: {live}")
                self.assertAlmostEqual(scraped[name + at], gpu[key], msg=f"/metrics: {name}")
        machine = report["system"]
        self.assertEqual(top["system"]["memory_total_bytes"], machine["memory_total_bytes"])
        self.assertEqual(scraped['genscope_memory_total_bytes{entity="machine"}'], machine["memory_total_bytes"])
        self.assertEqual(scraped['genscope_cpus{entity="machine"}'], machine["cpu_count"])


if __name__ == "__main__":
    unittest.main()
