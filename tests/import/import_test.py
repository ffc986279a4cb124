#!/usr/bin/env python3
"""`genscope import` as a user meets it.

import_test.py GENSCOPE             run the tests
import_test.py --approve GENSCOPE   rewrite the tests/golden/import/kineto.* made of it

tests/golden/import/kineto.json is made by hand to the schema of the PyTorch profiler's files.
"""
import cProfile
import gzip
import json
import marshal
import os
import pathlib
import pickle
import pstats
import re
import sqlite3
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "golden"))
import golden  # noqa: E402

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "golden" / "import"
KINETO = FOLDER / "kineto.json"


def genscope(*words, cwd):
    return golden.genscope(*words, cwd=cwd, columns=140)


def masked(text):
    """Without what depends on this machine and on the compressor's version."""
    text = re.sub(r"(?m)^(  (?:host|started|command) +).*$", r"\1*", text)
    text = re.sub(r"(?m)^(\| (?:id|host|started|command) \|).*$", r"\1 * |", text)
    return re.sub(r" in [\d.]+ KiB \(\d+ bytes per span\)", " in * KiB", text)


def masked_json(text):
    report = json.loads(text)
    for key in ("id", "started", "command", "host", "path"):
        report["run"][key] = "*"
    for process in report["integrity"]["processes"]:
        process["host"] = "*"
    report["recorder"]["bytes"] = "*"
    return json.dumps(report, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def golden_texts(folder):
    """What the golden files hold, made anew."""
    done = genscope("import", "--run-dir", "run", KINETO, cwd=folder)
    assert done.returncode == 0, done.stderr
    return {
        "kineto.report.txt": masked(genscope("report", "run", "--full", cwd=folder).stdout),
        "kineto.screen.txt": masked(genscope("report", "run", "--columns", "100", cwd=folder).stdout),
        "kineto.report.md": masked(genscope("report", "run", "-f", "md", cwd=folder).stdout),
        "kineto.report.json": masked_json(genscope("report", "run", "--json", cwd=folder).stdout),
        "kineto.spans.txt": genscope("report", "run", "--spans", "-f", "csv", cwd=folder).stdout,
    }


def training_with_stacks(log_every):
    """Eight steps as torch.profiler with stacks writes them: a step begins within the frame of
    Profiler.step, which it outlives, and so lies beside the frames of its thread."""
    events = []

    def add(cat, name, at, length, tid=9, **args):
        events.append({"ph": "X", "cat": cat, "name": name, "pid": 9, "tid": tid, "ts": at,
                       "dur": length, "args": args})

    add("python_function", "train.py(3): main", 0, 9000)
    for i in range(8):
        at = 1000 * i + 10
        add("python_function", "torch/profiler/profiler.py(700): step", at, 20)
        add("user_annotation", f"ProfilerStep#{i}", at + 10, 990)
        add("user_annotation", "Optimizer.step#AdamW.step", at + 100, 50)
        add("cuda_runtime", "cudaLaunchKernel", at + 110, 5, correlation=i)
        add("kernel", "gemm", at + 200, 300, tid=7, correlation=i, device=0, stream=7)
        logs = i % log_every == 0
        add("python_function", "wandb/sdk/wandb_run.py(1733): log" if logs
            else "train.py(9): check", at + 400, 200)
        add("cpu_op", "aten::item", at + 410, 150)
        add("cuda_runtime", "cudaStreamSynchronize", at + 420, 100)
    return json.dumps({"traceEvents": events})


class Case(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.dir = pathlib.Path(scratch.name)

    def run_of(self, done, code=0):
        self.assertEqual(done.returncode, code, done.stderr)
        return self.dir / done.stdout.strip()

    def report(self, run):
        done = genscope("report", run, "--json", cwd=self.dir)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def imported(self, name, content=None):
        if content is not None:
            (self.dir / name).write_bytes(content)
        return self.run_of(genscope("import", name, cwd=self.dir))

    def refused(self, name, content, *words):
        (self.dir / name).write_bytes(content)
        done = genscope("import", "--run-dir", "refused", name, cwd=self.dir)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        for word in (name, *words):
            self.assertIn(word, done.stderr)
        self.assertFalse((self.dir / "refused").exists())

    def spans(self, run):
        done = genscope("report", run, "--spans", "-f", "json", cwd=self.dir)
        return [json.loads(line) for line in done.stdout.splitlines()]


class Import(Case):
    def test_logging_that_waits_at_every_step_is_found_through_the_frames(self):
        for every, per_step, fired in ((1, 1.0, True), (4, 0.25, False)):
            (self.dir / "trace.json").write_text(training_with_stacks(every))
            run = self.run_of(genscope("import", "trace.json", cwd=self.dir))
            traffic = self.report(run)["resources"]["step_traffic"]
            self.assertEqual(traffic["syncs_per_step"], 1)
            self.assertEqual(traffic["log_syncs_per_step"], per_step)
            advice = json.loads(genscope("advise", run, "--json", cwd=self.dir).stdout)
            rules = [finding["rule"] for finding in advice["findings"]]
            self.assertEqual("TR-METRIC" in rules, fired, rules)

    def test_the_report_of_a_kineto_file_is_as_it_was(self):
        golden.compare(self, FOLDER, golden_texts(self.dir))

    def test_gzip_gives_the_same_run(self):
        packed = self.dir / "trace.json.gz"
        packed.write_bytes(gzip.compress(KINETO.read_bytes()))
        plain = self.report(self.run_of(genscope("import", KINETO, cwd=self.dir)))
        other = self.report(self.run_of(genscope("import", packed, cwd=self.dir)))
        self.assertEqual(plain["stages"], other["stages"])

    def test_ranks_become_traces_of_one_run_on_one_clock(self):
        files = []
        for rank in range(12):
            trace = json.loads(KINETO.read_text())
            trace["distributedInfo"]["rank"] = rank
            trace["baseTimeNanoseconds"] += rank * 1_000_000
            trace["trace_id"] = f"{rank:032x}"
            files.append(self.dir / f"rank{rank}.json")
            files[-1].write_text(json.dumps(trace))
        run = self.run_of(genscope("import", "--name", "ddp", *files, cwd=self.dir))
        self.assertEqual(len(list(run.glob("trace-*.gst"))), 12)
        report = self.report(run)
        self.assertEqual(report["run"]["name"], "ddp")
        # The last rank began 11 ms after the first; each lasts 7.11 ms.
        self.assertEqual(report["run"]["wall_ns"], 11_000_000 + 7_110_000)

    def test_quiet_prints_the_path_alone(self):
        done = genscope("--quiet", "import", "-o", "runs", KINETO, cwd=self.dir)
        self.assertRegex(done.stdout, r"^runs/\d{8}-\d{6}-kineto\.json-\d+\n$")
        self.assertEqual(done.stderr, "")

    def test_what_is_dropped_is_told(self):
        done = genscope("import", KINETO, cwd=self.dir)
        self.assertIn("2 of 3 device spans joined with their launch", done.stderr)
        self.assertIn("2 flow arrows and 0 events of other kinds dropped", done.stderr)
        self.assertIn("rank 1", done.stderr)

    def test_a_file_that_was_cut_off_gives_what_it_holds_and_the_report_says_so(self):
        cut = self.dir / "cut.json"
        cut.write_bytes(KINETO.read_bytes()[:3000])
        done = genscope("import", "--run-dir", "run", cut, cwd=self.dir)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("it was cut off there", done.stderr)
        self.assertIn("cut off there", genscope("report", "run", "--full", cwd=self.dir).stdout)

    def test_one_bad_file_of_several_is_named_and_the_others_are_kept(self):
        bad = self.dir / "bad.json"
        bad.write_text("hello")
        done = genscope("import", "--run-dir", "run", KINETO, bad, cwd=self.dir)
        self.assertEqual(done.returncode, 2)
        self.assertIn("bad.json is no JSON", done.stderr)
        self.assertIn("1 of 2 files could not be imported", done.stderr)
        self.assertEqual(len(list((self.dir / "run").glob("trace-*.gst"))), 1)

    def test_nothing_is_made_of_a_file_that_is_no_trace(self):
        for content in (b"", b"hello", b'{"a": 1}', b"\x1f\x8b"):
            bad = self.dir / "bad.json"
            bad.write_bytes(content)
            done = genscope("import", "--run-dir", "run", bad, cwd=self.dir)
            self.assertEqual(done.returncode, 2, content)
            self.assertTrue(done.stderr.startswith("genscope: "), done.stderr)
            self.assertFalse((self.dir / "run").exists())
        self.assertEqual(genscope("import", "--run-dir", "run", "missing", cwd=self.dir).returncode, 2)

    def test_a_trace_without_events_measured_nothing(self):
        empty = self.dir / "empty.json"
        empty.write_text("[]")
        done = genscope("import", "--run-dir", "run", empty, cwd=self.dir)
        self.assertEqual(done.returncode, 7, done.stderr)

    def test_a_gzip_bomb_is_refused_and_the_limit_can_be_raised(self):
        bomb = self.dir / "bomb.json.gz"
        bomb.write_bytes(gzip.compress(b"[") + gzip.compress(b" " * (1 << 20)) * 80)
        done = genscope("import", "--run-dir", "run", bomb, cwd=self.dir)
        self.assertEqual(done.returncode, 5)
        self.assertIn("raise ImportOptions::max_ratio (--max-ratio)", done.stderr)
        done = genscope("import", "--run-dir", "run", "--max-ratio", 5000, bomb, cwd=self.dir)
        self.assertEqual(done.returncode, 7, done.stderr)


def leaf(n):
    return sum(i * i for i in range(n))


def step(n):
    return leaf(n) + leaf(n // 2)


def generate():
    step(2000)
    step(3000)
    return leaf(500)


def recurse(n):
    return recurse(n - 1) if n else leaf(100)


def snapshot(**changes):
    """A memory snapshot in the shape of torch.cuda.memory._snapshot()."""
    def frame(filename, line, name):
        return {"filename": filename, "line": line, "name": name}
    unet = [frame("/app/models/unet.py", 7, "forward")]
    vae = [frame("??", 0, "torch::unwind::unwind()"),
           frame("/venv/torch/nn/modules/linear.py", 5, "forward"),
           frame("/app/models/vae.py", 120, "decode"), frame("/app/gen.py", 9, "main")]
    first = 1731960000000000

    def entry(at, action, addr, size, frames=(), **more):
        return {"action": action, "addr": addr, "size": size, "stream": 0, "time_us": first + at,
                "frames": list(frames), **more}
    history = [
        entry(0, "segment_alloc", 4096, 1_000_000, unet),
        entry(10, "alloc", 4096, 1000, unet),
        entry(110, "alloc", 8192, 5000, vae),
        entry(120, "free_requested", 4096, 1000, unet),
        entry(130, "free_completed", 4096, 1000, unet),
        entry(140, "alloc", 4096, 300, vae),
        entry(150, "oom", 0, 9_999_999, vae, device_free=77),
        entry(160, "free_requested", 9_000_000, 200),  # allocated before the history
    ]
    return {
        "segments": [{"device": 0, "address": 4096, "total_size": 1_000_000, "stream": 0,
                      "segment_type": "large", "segment_pool_id": (0, 0),
                      "allocated_size": 6144, "active_size": 6144, "requested_size": 5300,
                      "is_expandable": False, "frames": [], "blocks": []}],
        "device_traces": [history],
        "allocator_settings": {"max_split_size": -1, "garbage_collection_threshold": 0.0},
        "external_annotations": [
            {"stage": stage, "name": name, "device": 0, "time_us": first + at}
            for at, stage, name in ((5, "START", "denoise"), (100, "END", "denoise"),
                                    (105, "START", "decode"), (155, "END", "decode"))],
        **changes}


def nsys_file(path):
    """Tables and columns as the documentation of nsys' export has them."""
    tables = {
        "StringIds": "id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL",
        "NVTX_EVENTS": "start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, "
                       "text TEXT, globalTid INTEGER, textId INTEGER",
        "CUPTI_ACTIVITY_KIND_RUNTIME": "start INTEGER NOT NULL, end INTEGER NOT NULL, "
                                       "globalTid INTEGER, correlationId INTEGER, nameId INTEGER",
        "CUPTI_ACTIVITY_KIND_KERNEL": "start INTEGER NOT NULL, end INTEGER NOT NULL, "
                                      "deviceId INTEGER, streamId INTEGER, correlationId INTEGER, "
                                      "globalPid INTEGER, demangledName INTEGER, "
                                      "shortName INTEGER, gridX INTEGER, gridY INTEGER, "
                                      "gridZ INTEGER, blockX INTEGER, blockY INTEGER, "
                                      "blockZ INTEGER, registersPerThread INTEGER",
        "CUPTI_ACTIVITY_KIND_MEMCPY": "start INTEGER NOT NULL, end INTEGER NOT NULL, "
                                      "deviceId INTEGER, streamId INTEGER, correlationId INTEGER, "
                                      "globalPid INTEGER, bytes INTEGER, copyKind INTEGER",
        "TARGET_INFO_SESSION_START_TIME": "utcEpochNs INTEGER",
        "TARGET_INFO_GPU": "id INTEGER, name TEXT, totalMemory INTEGER, smCount INTEGER",
        "ThreadNames": "nameId INTEGER, globalTid INTEGER",
    }
    process = 4242 << 24
    thread = process | 4243
    rows = {
        "StringIds": [(1, "denoise"), (2, "cudaLaunchKernel_v7000"),
                      (3, "void gemm<float>(float*)"), (4, "gemm"), (5, "python"),
                      (6, "cudaMemcpyAsync_v3020")],
        "NVTX_EVENTS": [(1000, 9000, 59, None, thread, 1), (1100, 4000, 59, "step 0", thread, None),
                        (4100, 8000, 59, "step 1", thread, None),
                        (1200, 1300, 59, "aten::mm, seq = 3, op_id = 9", thread, None),
                        (0, None, 75, "a domain", thread, None)],
        "CUPTI_ACTIVITY_KIND_RUNTIME": [(1210, 1230, thread, 77, 2), (4200, 4250, thread, 78, 6)],
        "CUPTI_ACTIVITY_KIND_KERNEL": [(1400, 1900, 0, 7, 77, process, 3, 4, 8, 1, 1, 128, 1, 1, 40)],
        "CUPTI_ACTIVITY_KIND_MEMCPY": [(4300, 4400, 0, 7, 78, process, 4096, 1)],
        "TARGET_INFO_SESSION_START_TIME": [(1731960000000000000,)],
        "TARGET_INFO_GPU": [(0, "NVIDIA L4", 24_000_000_000, 58)],
        "ThreadNames": [(5, thread)],
    }
    database = sqlite3.connect(path)
    database.execute("PRAGMA page_size = 512")
    for table, columns in tables.items():
        database.execute(f"CREATE TABLE {table} ({columns})")
        for row in rows[table]:
            database.execute(f"INSERT INTO {table} VALUES ({','.join('?' * len(row))})", row)
    database.commit()
    return database


class Profiles(Case):
    def test_functions_have_the_figures_that_pstats_has(self):
        profile = cProfile.Profile()
        profile.enable()
        generate()
        recurse(3)
        profile.disable()
        path = self.dir / "real.prof"
        profile.dump_stats(path)
        stats = pstats.Stats(str(path)).stats
        rows = {row["name"]: row for row in self.report(self.imported("real.prof"))["stages"]}
        checked = 0
        for (file, line, name), (primitive, calls, own, total, _) in stats.items():
            key = name if file == "~" else f"{os.path.basename(file)}({line}): {name}"
            if "disable" in name or round(total * 1e9) == 0:
                continue
            row = rows[key]
            self.assertEqual(row["kind"], "function")
            if calls == primitive:
                self.assertAlmostEqual(row["total_ns"], total * 1e9, delta=20 * row["count"], msg=key)
                self.assertAlmostEqual(row["self_ns"], own * 1e9, delta=40 * row["count"], msg=key)
            checked += 1
        self.assertGreaterEqual(checked, 5)
        spans = self.spans(self.imported("real.prof"))
        twice = [s for s in spans if s["name"].endswith(": step")]
        self.assertEqual([s["args"]["calls"] for s in twice], [2])
        by_id = {s["id"]: s for s in spans}
        callers = {by_id[s["parent"]]["name"].split(": ")[1] for s in spans
                   if s["name"].endswith(": leaf")}
        self.assertLessEqual({"step", "generate"}, callers)

    def test_a_file_of_the_command_is_read(self):
        (self.dir / "p.py").write_text("def f():\n    return sorted(range(100))\nf()\n")
        subprocess.run([sys.executable, "-m", "cProfile", "-o", "p.prof", "p.py"], cwd=self.dir,
                       check=True, stdout=subprocess.DEVNULL)
        names = [row["name"] for row in self.report(self.imported("p.prof"))["stages"]]
        self.assertIn("p.py(1): f", names)
        report = genscope("report", self.imported("p.prof"), "--full", cwd=self.dir).stdout
        self.assertIn("cProfile keeps totals", report)

    def test_what_is_no_profile_is_named(self):
        self.refused("a.prof", b"{(" + b"\xff" * 3, "cannot be read", "python -m cProfile -o")
        whole = marshal.dumps({("a.py", 1, "f"): (1, 1, 0.5, 0.5, {})})
        self.refused("cut.prof", whole[:-6], "it is cut off")
        code = marshal.dumps({("a.py", 1, compile("1", "x", "eval")): (1, 1, 0.5, 0.5, {})})
        self.refused("code.prof", code, "holds code")
        self.refused("keys.prof", marshal.dumps({(1, 2): 3}), "(file, line, name)")


class Snapshots(Case):
    def test_levels_sites_and_stages_are_what_the_snapshot_says(self):
        for protocol in (2, 3, 4, 5):
            run = self.imported("s.pickle", pickle.dumps(snapshot(), protocol))
            report = self.report(run)
            memory = report["memory_events"]
            self.assertEqual((memory["allocations"], memory["frees"]), (3, 2))
            self.assertEqual((memory["allocated_bytes"], memory["freed_bytes"]), (6300, 1200))
            done = genscope("report", run, "--samples", "-f", "json", cwd=self.dir)
            levels = {}
            for line in done.stdout.splitlines():
                row = json.loads(line)
                levels.setdefault(row["counter"], []).append((row["at_ns"] // 1000, row["value"]))
            # 5300 at the end; 200 are from before the history, and freed at 160.
            self.assertEqual(levels["allocator:cuda:0/allocator_requested_bytes"],
                             [(0, 200), (0, 200), (10, 1200), (110, 6200), (120, 5200), (140, 5500),
                              (160, 5300)])
            reserved = levels["allocator:cuda:0/allocator_reserved_bytes"]
            self.assertEqual([value for _, value in reserved], [0] + [1_000_000] * 6)
            stages = {row["name"]: row["total_ns"] for row in report["stages"]}
            self.assertEqual(stages, {"denoise": 95_000, "decode": 50_000})
        self.assertIn("cuda:0 held at most 6200 bytes: 5000 by models/vae.py(120): decode (in decode), "
                      "1000 by models/unet.py(7): forward (in denoise)",
                      " ".join(genscope("report", run, "--full", cwd=self.dir).stdout.split()))

    def test_annotations_of_older_versions_are_read(self):
        old = snapshot()
        history = old["device_traces"][0]
        for mark in old.pop("external_annotations"):
            history.append({"action": "user_defined", "addr": 0, "size": 0, "stream": 0,
                            "time_us": mark["time_us"],
                            "frames": [{"name": mark["stage"], "filename": mark["name"], "line": 0}]})
        old["device_traces"].append([dict(e) for e in history if e["action"] == "user_defined"])
        report = self.report(self.imported("s.pickle", pickle.dumps(old)))
        self.assertEqual({row["name"]: row["count"] for row in report["stages"]},
                         {"denoise": 1, "decode": 1})
        self.assertIn("decode (in decode)", genscope("import", "s.pickle", cwd=self.dir).stderr)

    def test_nothing_in_a_pickle_is_run(self):
        class Evil:
            def __reduce__(self):
                return os.system, (f"touch {self.path}",)
        for protocol in (2, 4):
            evil = Evil()
            Evil.path = self.dir / "ran"
            self.refused("s.pickle", pickle.dumps({"segments": [evil]}, protocol), "system",
                         "asks to run", "_dump_snapshot")
            self.assertFalse((self.dir / "ran").exists())

    def test_what_is_no_snapshot_is_named(self):
        whole = pickle.dumps(snapshot())
        self.refused("cut.pickle", whole[:-9], "cannot be read")
        self.refused("other.pickle", pickle.dumps([1, 2]), "it holds a list, not a dict")
        self.refused("half.pickle", pickle.dumps({"segments": []}), "`device_traces`")

    def test_a_history_that_was_not_recorded_is_told(self):
        (self.dir / "s.pickle").write_bytes(pickle.dumps(snapshot(device_traces=[[]],
                                                                  external_annotations=[])))
        done = genscope("import", "s.pickle", cwd=self.dir)
        self.assertEqual(done.returncode, 7)
        self.assertIn("_record_memory_history()", done.stderr)


class Nsys(Case):
    def test_ranges_calls_and_kernels_are_joined(self):
        nsys_file(self.dir / "n.sqlite").close()
        run = self.imported("n.sqlite")
        spans = {(s["kind"], s["name"]): s for s in self.spans(run)}
        by_id = {s["id"]: s for s in spans.values()}
        kernel = spans["task", "void gemm<float>(float*)"]
        self.assertEqual(kernel["track"], "gpu:0/stream:7")
        self.assertEqual((kernel["begin_ns"], kernel["duration_ns"]), (400, 500))
        self.assertEqual(kernel["args"]["grid"], "[8, 1, 1]")
        launch = by_id[kernel["parent"]]
        self.assertEqual(launch["name"], "cudaLaunchKernel")
        self.assertEqual(by_id[launch["parent"]]["name"], "aten::mm")
        copy = spans["task", "Memcpy HtoD"]
        self.assertEqual(copy["args"]["bytes"], 4096)
        report = self.report(run)
        rows = {(row["kind"], row["name"]): row for row in report["stages"]}
        self.assertEqual(rows["step", "step"]["count"], 2)
        self.assertEqual(rows["step", "step"]["device_ns"], 600)
        self.assertEqual(rows["stage", "denoise"]["total_ns"], 8000)
        self.assertEqual(spans["stage", "denoise"]["track"], "python")

    def test_the_file_is_left_as_it_was(self):
        nsys_file(self.dir / "n.sqlite").close()
        before = sorted((p.name, p.read_bytes()) for p in self.dir.iterdir())
        (self.dir / "n.sqlite").chmod(0o444)
        run = self.imported("n.sqlite")
        self.assertEqual(before, sorted((p.name, p.read_bytes()) for p in self.dir.iterdir()
                                        if p.is_file()))
        self.assertTrue(run.exists())

    def test_views_are_not_looked_into(self):
        database = nsys_file(self.dir / "n.sqlite")
        database.execute("DROP TABLE NVTX_EVENTS")
        database.execute("CREATE VIEW NVTX_EVENTS AS WITH RECURSIVE c(start) AS (SELECT 1 UNION ALL "
                         "SELECT start + 1 FROM c) SELECT start, start AS end, 59 AS eventType, "
                         "'x' AS text, 1 AS globalTid, 0 AS textId FROM c")
        database.commit()
        database.close()
        kinds = {s["kind"] for s in self.spans(self.imported("n.sqlite"))}
        self.assertEqual(kinds, {"function", "task"})

    def test_what_is_no_export_is_named(self):
        sqlite3.connect(self.dir / "o.sqlite").execute("CREATE TABLE t (a)").connection.close()
        self.refused("o.sqlite", (self.dir / "o.sqlite").read_bytes(), "CUPTI_ACTIVITY_KIND_KERNEL",
                     "nsys export --type sqlite")
        database = nsys_file(self.dir / "c.sqlite")
        database.execute("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN streamId")
        database.commit()
        database.close()
        self.refused("c.sqlite", (self.dir / "c.sqlite").read_bytes(),
                     "table CUPTI_ACTIVITY_KIND_KERNEL has no column streamId")
        self.refused("r.nsys-rep", b"\x00rep", "nsys export --type sqlite")


class Jax(Case):
    def test_step_annotations_are_steps(self):
        """The file is jax.profiler.trace()'s, of jax 0.10.2."""
        run = self.imported("jax.json.gz", (FOLDER / "jax.trace.json.gz").read_bytes())
        steps = [s for s in self.spans(run) if s["kind"] == "step"]
        self.assertEqual([(s["name"], s["args"]["index"]) for s in steps],
                         [("train", 10), ("train", 11), ("train", 12)])
        self.assertEqual(self.report(run)["steps"]["count"], 3)
        self.assertNotIn("malformed", genscope("report", run, "--full", cwd=self.dir).stdout)


if __name__ == "__main__":
    golden.main(FOLDER, golden_texts)
