"""Recording something in this process and reading it back through the command."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import unittest
from typing import Any, Callable

import genscope as gs

from harness import spans_of

GENSCOPE = os.environ.get("GENSCOPE_BIN", "genscope")


class Recorded:
    """Spans of a run: dicts with kind, name, args, flags, parent; `path` says where each is."""

    def __init__(self, run_dir: str):
        self.run_dir = run_dir
        self.spans = spans_of(run_dir)
        self._by_id = {(span["pid"], span["id"]): span for span in self.spans}

    def of(self, kind: str, name: str = "") -> "list[dict[str, Any]]":
        return [s for s in self.spans if s["kind"] == kind and name in ("", s["name"])]

    def parent(self, span: "dict[str, Any]") -> "dict[str, Any] | None":
        return self._by_id.get((span["pid"], span["parent"]))

    def children(self, span: "dict[str, Any]", kind: str = "") -> "list[dict[str, Any]]":
        return [s for s in self.spans if s["parent"] == span["id"] and s["pid"] == span["pid"]
                and kind in ("", s["kind"])]

    def stages(self, span: "dict[str, Any]") -> "list[str]":
        return [s["name"] for s in self.children(span, "stage")]

    def advice(self, rules: "dict[str, str] | None" = None) -> "set[str]":
        """Rules that fire. `rules`: further ones, id -> condition."""
        command = [GENSCOPE, "advise", self.run_dir, "--json"]
        if rules:
            path = os.path.join(self.run_dir, "rules.yaml")
            with open(path, "w", encoding="utf-8") as file:
                file.write("rules:\n")
                for id, condition in rules.items():
                    file.write(f"  - id: {id}\n    title: t\n    advice: a\n    citation: c\n"
                               f"    condition: >-\n      {condition}\n")
            command += ["--rules", path]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return {finding["rule"] for finding in json.loads(text)["findings"]}


class RecordedCase(unittest.TestCase):
    def record(self, what: Callable[[], Any]) -> Recorded:
        folder = tempfile.mkdtemp(prefix="genscope-test-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        run_dir = os.path.join(folder, "run")
        with gs.session("test", run_dir=run_dir, quiet=True, probes=[]):
            self.result = what()
        return Recorded(run_dir)

    def assert_advice(self, run: Recorded, rules: "set[str]") -> None:
        """These rules fire; where one does not, the report is shown."""
        missing = rules - run.advice()
        if missing:
            report = subprocess.run([GENSCOPE, "report", run.run_dir, "--full"], capture_output=True, text=True)
            self.fail(f"{missing} did not fire\n{report.stdout}")

    def assert_facts(self, run: Recorded, conditions: "list[str]") -> None:
        """Each is a condition in the language of docs/rules.md that holds in the run."""
        rules = {f"FACT-{i}": condition for i, condition in enumerate(conditions)}
        fired = run.advice(rules)
        missing = [condition for id, condition in rules.items() if id not in fired]
        self.assertEqual(missing, [])
