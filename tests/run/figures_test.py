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
import shutil
import subprocess
import tempfile
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


def figure_of(cell):
    """(value, half of its last digit) of a figure as people read it."""
    found = re.fullmatch(FIGURE, cell.replace(",", ""))
    assert found, f"no figure: {cell!r}"
    unit = UNITS[found[2] or ""]
    digits = found[1]
    last = 10.0 ** -len(digits.partition(".")[2])
    if "." not in digits and len(digits) > 3:
        last = 10.0 ** (len(digits) - 3)
    return float(digits) * unit, last * unit * 0.51 + 1e-9


def text_table(text, heading):
    """Rows of a table of the text report, by column."""
    lines = text.split(f"\n{heading}\n", 1)[1].splitlines()
    columns = re.split(r" {2,}", lines[0].strip())
    rows = []
    for line in lines[1:]:
        cells = re.split(r" {2,}", line.strip())
        if len(cells) != len(columns):
            break
        rows.append(dict(zip(columns, cells)))
    return rows


def markdown_tables(text):
    """Rows by the heading before the table."""
    tables, heading, columns = {}, "", None
    for line in text.splitlines():
        if line.startswith("#"):
            heading, columns = line.lstrip("# "), None
        elif line.startswith("|"):
            cells = [re.sub(r"\\(.)", r"\1", cell.strip()) for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            if columns is None:
                columns = cells
            elif set("".join(cells)) - set("-:"):
                tables.setdefault(heading, []).append(dict(zip(columns, cells)))
    return tables


class EveryOutput(unittest.TestCase):
    """All figures of one run, taken from the outputs themselves: whatever two of them show is compared."""

    @classmethod
    def setUpClass(cls):
        if not os.path.exists(DOUBLE):
            raise unittest.SkipTest(f"the double is not built: {DOUBLE}")
        cls.dir = pathlib.Path(tempfile.mkdtemp(prefix="genscope-figures-"))
        cls.addClassCleanup(shutil.rmtree, cls.dir, ignore_errors=True)
        cls.env = dict(os.environ, LC_ALL="C.UTF-8", GENSCOPE_NVML_LIBRARY=DOUBLE,
                       GENSCOPE_NVML_SCENARIO=str(SCENARIO), GENSCOPE_OUT=str(cls.dir / "runs"))
        for name in ("GENSCOPE_RUN_DIR", "NO_COLOR", "GENSCOPE_PROC_ROOT", "GENSCOPE_SYS_ROOT"):
            cls.env.pop(name, None)
        cls.run_dir = cls.dir / "runs" / "one"
        work = "x = b'a' * 60_000_000\nfor i in range(2_000_000): i * i"
        cls.ran = cls.genscope("run", "--run-dir", cls.run_dir, "--live", "never", "--", "sh", "-c",
                               f'python3 -c "{work}"; exec "$0" --size 64 --steps 12 --no-image', TINYDIFF).stderr
        cls.text = cls.report("text", "--full")
        cls.screen = cls.report("text")
        cls.markdown = cls.report("md")
        cls.csv = list(csv.DictReader(io.StringIO(cls.report("csv"))))
        cls.json = json.loads(cls.report("json"))

    @classmethod
    def genscope(cls, *words):
        return subprocess.run([BIN, *map(str, words)], env=cls.env, timeout=PATIENCE, check=True, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    @classmethod
    def report(cls, form, *options):
        return cls.genscope("report", cls.run_dir, "-f", form, "-o", "-", *options).stdout

    def is_figure(self, cell, value, what):
        if value is None:
            return self.assertEqual(cell, "-", what)
        shown, half = figure_of(cell)
        return self.assertAlmostEqual(shown, value, delta=half, msg=f"{what}: {cell!r} is not {value}")

    def test_stages(self):
        stages = {(one["name"], one["kind"]): one for one in self.json["stages"]}
        text = {(one["name"], one["kind"]): one for one in text_table(self.text, "Stages")}
        markdown = {(one["name"], one["kind"]): one for one in markdown_tables(self.markdown)["Stages"]}
        self.assertEqual(stages.keys(), text.keys())
        self.assertEqual(stages.keys(), markdown.keys())
        self.assertEqual(list(stages), [(one["name"], one["kind"]) for one in self.csv])
        fields = {"total": "total_ns", "self": "self_ns", "min": "min_ns", "mean": "mean_ns", "p50": "p50_ns",
                  "p95": "p95_ns", "p99": "p99_ns", "max": "max_ns", "count": "count", "failed": "failed"}
        for place, stage in stages.items():
            for column, cell in text[place].items():
                if column in markdown[place]:
                    self.assertEqual(cell.replace(" ", ""), markdown[place][column].replace(" ", ""), f"{place} {column}")
                if column in fields:
                    self.is_figure(cell, stage[fields[column]], f"{place} {column}")
            self.is_figure(text[place]["energy"], stage["energy_joules"], f"{place} energy")
            self.assertAlmostEqual(float(text[place]["share"].rstrip("%")) / 100, stage["share"], delta=0.0051)
        for one in self.csv:
            stage = stages[one["name"], one["kind"]]
            for column, cell in one.items():
                if column not in ("name", "kind"):
                    self.assertEqual(float(cell) if cell else None, stage[column], f"{one['name']} {column}")

    def test_facts_and_sentences_of_text_are_those_of_markdown(self):
        facts = {one: " ".join(rest.split()) for one, rest in re.findall(r"(?m)^  (\w+) +(.*)$", self.text)}
        rows = {}
        for line in self.markdown.split("## ")[0].splitlines():
            cells = [cell.strip() for cell in line.split("|")[1:-1]]
            if len(cells) == 2 and cells[0] in ("wall", "recorded", "exit", "CPU", "time", "memory", "storage", "seen",
                                                "machine", "energy"):
                rows[cells[0]] = cells[1]
        self.assertGreaterEqual(rows.keys(), {"wall", "CPU", "memory", "machine", "energy"})
        for label, value in rows.items():
            self.assertEqual(facts[label], value)
        text = " ".join(self.text.split())
        sentences = [re.sub(r"\\(.)", r"\1", line[2:]) for line in self.markdown.split("## Findings")[0].splitlines()
                     if line.startswith("- ")]
        self.assertGreater(len(sentences), 4)
        for sentence in sentences:
            self.assertIn(" ".join(sentence.split()), text)
        use = {one["stage"]: one for one in text_table(self.text, "Use by stage")}
        for one in markdown_tables(self.markdown)["Use by stage"]:
            self.assertEqual(one, {**use[one["stage"]]})

    def test_the_first_screen(self):
        report, process = self.json, self.json["process"]
        wall = report["run"]["wall_ns"]
        body = self.screen.split("\nRecorded in")[0]
        self.assertIn(body.split("findings in")[0].rstrip(" 0123456789more"), self.ran)
        self.assertEqual(self.screen.splitlines()[0].strip(), report["headline"])
        self.assertIn(report["headline"], self.markdown.replace("\\", ""))
        nodes = report["stage_tree"]["nodes"]
        shown = re.findall(r"(?m)^  (\w+) +[^\w\s]+ +([\d.]+)% +([\d.]+ \w+)$", self.screen)
        self.assertGreater(len(shown), 2)
        for name, percent, time in shown:
            node = next(one for one in nodes if one["name"] == name and one["parent"] is None)
            self.is_figure(time, node["total_ns"], name)
            self.assertAlmostEqual(float(percent) / 100, node["total_ns"] / wall, delta=0.0051, msg=name)
        steps = re.search(r"(\d+): median (.+?), first (.+?), slowest (.+?) \(step (\d+)\)", self.screen)
        self.assertEqual(int(steps[1]), report["steps"]["count"])
        for cell, key in ((steps[2], "steady_p50_ns"), (steps[3], "first_ns"), (steps[4], "max_ns")):
            self.is_figure(cell, report["steps"][key], key)
        memory = re.search(r"memory +peak ([\d.]+ \w+) \(([\d.]+ \w+) anonymous", self.screen)
        self.is_figure(memory[1], process["peak_rss_bytes"], "memory")
        self.is_figure(memory[2], process["peak_rss_anon_bytes"], "anonymous")
        cpu = re.search(r"CPU +([\d.]+) of ([\d.]+) cores", self.screen)
        self.is_figure(cpu[1], process["cpu_ns"] / wall, "cores")
        self.is_figure(cpu[2], report["resources"]["host"]["cpus"], "cpus")
        waited = re.search(r", waited for one ([\d.]+)% of the time", " ".join(self.screen.split()))
        ready = report["resources"]["time"]["ready_share"]
        if waited:
            self.assertAlmostEqual(float(waited[1]) / 100, ready, delta=0.0051)
        else:
            self.assertLess(ready or 0, 0.02)
        energy = re.search(r"energy +([\d.]+ \w+)(?:, ([\d.]+ \w+) per image)?", self.screen)
        self.is_figure(energy[1], sum(gpu["energy_joules"] for gpu in report["gpus"]), "energy")
        if energy[2]:
            each = next(one for one in report["resources"]["energy"] if one["unit"] == "image")
            self.is_figure(energy[2], each["joules_each"], "energy per image")

    def test_other_commands(self):
        report, process, host = self.json, self.json["process"], self.json["resources"]["host"]
        cores = process["cpu_ns"] / report["run"]["wall_ns"]
        self.assertAlmostEqual(host["own_cores"], cores, places=9)
        self.assertEqual(host["rss_peak_bytes"], process["peak_rss_bytes"])
        self.assertEqual(host["write_bytes"], process["io_write_bytes"])
        compared = json.loads(self.genscope("compare", self.run_dir, self.run_dir, "--json").stdout)
        rows = {row["name"]: row for row in compared["rows"]}
        joules = sum(gpu["energy_joules"] for gpu in report["gpus"])
        for name, value in (("wall time", report["run"]["wall_ns"]), ("CPU time", process["cpu_ns"]),
                            ("peak RSS", process["peak_rss_bytes"]), ("energy", joules),
                            ("steady step", report["steps"]["steady_p50_ns"])):
            self.assertAlmostEqual(rows[name]["before"], value, msg=name)
        whole = json.loads(self.genscope("aggregate", self.run_dir, "--json").stdout)
        figures = {row["name"]: row for row in whole["figures"]}
        for name, value in (("cpu_cores", cores), ("rss_peak_bytes", process["peak_rss_bytes"])):
            self.assertAlmostEqual(figures[name]["max"], value, msg=name)
        advice = json.loads(self.genscope("advise", self.run_dir, "--json").stdout)
        self.assertEqual([(one["rule"], one["evidence"]) for one in advice["findings"]],
                         [(one["rule"], one["evidence"]) for one in report["findings"]])
        (listed,) = json.loads(self.genscope("list", self.dir / "runs", "--json").stdout)["runs"]
        self.assertEqual(listed["wall_ns"], report["run"]["wall_ns"])
        self.assertEqual(listed["findings"], len(report["findings"]))
        self.assertEqual(listed["headline"], report["headline"])
        page = page_report(self.genscope("report", self.run_dir, "-f", "html", "-o", "-").stdout.encode())
        self.assertEqual(page, report)


if __name__ == "__main__":
    unittest.main()
