"""JUnit of `genscope bench`, read back by junitparser: counts, outcomes and properties survive."""
import unittest

import junitparser

from bench_case import BenchCase


class Junit(BenchCase):
    def read(self, *words, expect):
        path = self.folder / "junit.xml"
        self.genscope(*words, "--no-keep", "--export", f"junit={path}", expect=expect)
        return junitparser.JUnitXml.fromfile(str(path))

    def test_a_regression_is_a_failure(self):
        xml = self.read("ab", "sleep 0.01", "sleep 0.2", "--units", 6, "--warmup", 0, expect=1)
        self.assertEqual((xml.tests, xml.failures, xml.errors, xml.skipped), (1, 1, 0, 0))
        [suite] = list(xml)
        [case] = list(suite)
        self.assertEqual((case.classname, case.name), ("all", "latency_s"))
        [result] = case.result
        self.assertIsInstance(result, junitparser.Failure)
        self.assertEqual(result.type, "regressed")
        facts = {one.name: one.value for one in case.child(junitparser.Properties)}
        self.assertGreater(float(facts["ratio"]), 1)
        self.assertLess(float(facts["ci_low"]), float(facts["ci_high"]))
        self.assertAlmostEqual(case.time, float(facts["after"]))

    def test_failures_and_strange_words(self):
        xml = self.read("cmd", "true", "sh -c 'echo \"<&>\\x01]]>\" >&2; exit 3'", "--units", 2, "--warmup", 0, expect=4)
        self.assertEqual((xml.tests, xml.failures, xml.errors), (2, 0, 1))
        outcomes = {case.classname: case.result for suite in xml for case in suite}
        self.assertEqual(outcomes["command1"], [])
        self.assertIsInstance(outcomes["command2"][0], junitparser.Error)
        self.assertEqual(outcomes["command2"][0].type, "exit_nonzero")
        self.assertIn("<&>", outcomes["command2"][0].text)


if __name__ == "__main__":
    unittest.main()
