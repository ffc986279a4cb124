"""Results of `genscope bench`: the JSON against its schema, and every other format read back by a parser."""
import csv
import io
import json
import pathlib
import unittest
import xml.etree.ElementTree as xml

import support

SCHEMA = json.loads((pathlib.Path(__file__).parents[2] / "docs" / "bench.schema.json").read_text())
KINDS = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool}


def mistakes(value, schema, where="$"):
    """What does not follow the schema; only the words that ours uses."""
    if "$ref" in schema:
        return mistakes(value, SCHEMA["$defs"][schema["$ref"].rsplit("/", 1)[1]], where)
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(isinstance(value, KINDS[k]) and (k == "boolean") == isinstance(value, bool) for k in kinds):
        return [f"{where}: {value!r} is no {kinds}"]
    found = [f"{where}: {value!r} is not allowed"] if value not in schema.get("enum", [value]) else []
    found += [f"{where}: no {key}" for key in schema.get("required", []) if key not in value]
    if isinstance(value, dict):
        for key, item in value.items():
            below = schema.get("properties", {}).get(key, schema.get("additionalProperties"))
            if below is not None:
                found += mistakes(item, below, f"{where}.{key}")
            elif where != "$.environment.fingerprint":
                found.append(f"{where}.{key}: not in the schema")
    if isinstance(value, list):
        for i, item in enumerate(value):
            found += mistakes(item, schema["items"], f"{where}[{i}]")
    return found


class Report(support.BenchCase):
    """One A/B of two sleeps, measured once for all tests."""
    text = None

    def setUp(self):
        super().setUp()
        self.file = self.dir / "result.json"
        if Report.text is None:
            self.bench("ab", "sleep 0.02", "sleep 0.3", "--units", "6", "--warmup", "1", "--export", f"json={self.file}",
                       code=1)
            Report.text = self.file.read_text()
        self.file.write_text(Report.text)

    def report(self, *words, code=0):
        return self.bench("report", self.file, *words, code=code).stdout

    def test_json_follows_the_schema_and_reads_back_the_same(self):
        text = self.file.read_text()
        self.assertEqual(mistakes(json.loads(text), SCHEMA), [])
        self.assertEqual(self.report("-f", "json"), text)
        first = json.loads(text)["comparisons"][0]
        self.assertEqual((first["metric"], first["verdict"]), ("latency_s", "regressed"))
        self.assertGreater(first["ratio"], 1.5)

    def test_text_and_markdown_name_the_verdict(self):
        self.assertIn("sleep 0.3", self.report())
        markdown = self.report("-f", "md")
        self.assertIn("regressed", markdown)
        self.assertLess(markdown.index("regressed"), markdown.index("<details>"))

    def test_junit_is_xml_with_a_failure(self):
        suite = xml.fromstring(self.report("-f", "junit")).find("testsuite")
        cases = suite.findall("testcase")
        self.assertEqual(len(cases), int(suite.get("tests")))
        self.assertEqual(suite.get("failures"), "1")
        self.assertEqual(cases[0].find("failure").get("type"), "regressed")
        facts = {p.get("name"): p.get("value") for p in cases[0].iter("property")}
        self.assertGreater(float(facts["ratio"]), 1.5)

    def test_csv_has_a_row_for_each_side_and_metric(self):
        rows = list(csv.DictReader(io.StringIO(self.report("-f", "csv"))))
        times = {row["slot"]: row for row in rows if row["metric"] == "latency_s"}
        self.assertEqual(sorted(times), ["A", "B"])
        self.assertEqual(times["B"]["verdict"], "regressed")
        self.assertNotIn(None, times["B"])

    def test_trackers_read_json(self):
        smaller = json.loads(self.report("-f", "gha"))
        self.assertIn("all / latency_s", [row["name"] for row in smaller])
        self.assertIn("latency_s", json.loads(self.report("-f", "bmf"))["all"])
        self.assertIsInstance(json.loads(self.report("-f", "gha-bigger")), list)

    def test_trackers_follow_their_published_shapes(self):
        """github-action-benchmark: a list of {name, unit, value, range?, extra?}. Bencher's BMF: benchmark -> measure ->
        {value, lower_value?, upper_value?}."""
        rows = json.loads(self.report("-f", "gha"))
        self.assertGreater(len(rows), 1)
        for row in rows:
            self.assertLessEqual({"name", "unit", "value"}, row.keys())
            self.assertLessEqual(row.keys(), {"name", "unit", "value", "range", "extra"})
            self.assertIsInstance(row["value"], (int, float))
            self.assertTrue(all(isinstance(row[key], str) for key in row.keys() - {"value"}), row)
        self.assertEqual(len({row["name"] for row in rows}), len(rows), "names tell series apart")
        for measures in json.loads(self.report("-f", "bmf")).values():
            for measure, figures in measures.items():
                self.assertLessEqual({"value"}, figures.keys())
                self.assertLessEqual(figures.keys(), {"value", "lower_value", "upper_value"})
                self.assertTrue(all(isinstance(x, (int, float)) for x in figures.values()), measure)
                if "lower_value" in figures:
                    self.assertLessEqual(figures["lower_value"], figures["value"])
                    self.assertLessEqual(figures["value"], figures["upper_value"])

    def test_page_has_no_script(self):
        page = self.report("-f", "html")
        self.assertIn("<svg", page)
        self.assertNotIn("<script", page)

    def test_ci_files(self):
        summary = self.dir / "summary.md"
        self.env.update(GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(summary))
        printed = self.report("--ci", "auto")
        self.assertTrue(printed.startswith("::error"), printed)
        self.assertIn("regressed", summary.read_text())
        names = {path.name for path in self.dir.glob("genscope-*")}
        self.assertEqual(names, {"genscope-summary.md", "genscope-junit.xml", "genscope-bench-smaller.json",
                                 "genscope-bench-bigger.json", "genscope-bmf.json"})

    def test_every_verb_with_a_result_writes_for_ci(self):
        """ab was measured already; the others with the least that they need."""
        summary = self.dir / "summary.md"
        self.env.update(GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(summary))
        base = self.dir / "base.json"
        self.bench("cmd", "true", "--units", 4, "--warmup", 0, "--export", f"json={base}", "--ci", "auto", "--ci-dir", "cmd")
        self.bench("ab", "true", "true", "--units", 2, "--warmup", 0, "--ci", "github", "--ci-dir", "ab")
        self.bench("compare", base, self.file, "--ci", "github", "--ci-dir", "compare", code=(0, 1, 6))
        self.bench("e2e", "true", "--prompt", "x", "--min-success", "90%", "--ci", "auto", "--ci-dir", "e2e", code=1)
        self.bench("gpu", "true", "--duration", "50ms", "--ci", "github", "--ci-dir", "gpu")
        self.bench("vlm", "--text-only", "true", "--with-image", "true", "--prompt", "x", "--units", 2, "--ci", "github",
                   "--ci-dir", "vlm")
        (self.dir / "suite.yaml").write_text("suite: s\ndefaults: {runner: {command: 'true'}, processes: 4}\n"
                                             "targets: [{metric: latency_s, max: 1us}]\n")
        self.bench("run", "suite.yaml", "--ci", "github", "--ci-dir", "run", code=1)
        self.bench("validate", "suite.yaml", "--ci", "github", "--ci-dir", "validate", code=1)
        for verb in ("cmd", "ab", "compare", "e2e", "gpu", "vlm", "run", "validate"):
            with self.subTest(verb):
                suite = xml.parse(self.dir / verb / "genscope-junit.xml").getroot().find("testsuite")
                self.assertGreaterEqual(int(suite.get("tests")), 1)
                self.assertTrue((self.dir / verb / "genscope-summary.md").read_text().startswith("## "))
        for verb, failed in (("e2e", "target success_ratio rate"), ("validate", "target latency_s median")):
            cases = xml.parse(self.dir / verb / "genscope-junit.xml").getroot().iter("testcase")
            self.assertIn(failed, [case.get("name") for case in cases if case.find("failure") is not None])
        self.assertEqual(sum(line.startswith("## ") for line in summary.read_text().splitlines()), 8)

    def test_json_on_stdout_stays_json_with_annotations(self):
        done = self.bench("ab", "true", "sleep 0.2", "--units", 4, "--warmup", 0, "--json", "--ci", "github", code=1)
        self.assertEqual(json.loads(done.stdout)["exit"]["code"], 1)
        self.assertIn("::error title=latency_s regressed", done.stderr)

    def test_a_broken_file_is_named(self):
        broken = self.dir / "broken.json"
        broken.write_text(self.file.read_text()[:-200])
        done = self.bench("report", broken, code=2)
        self.assertIn("broken.json", done.stderr)
        self.assertIn("cut short", done.stderr)


if __name__ == "__main__":
    unittest.main()
