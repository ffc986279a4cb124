#!/usr/bin/env python3
"""`genscope bench e2e`, `gpu`, `vlm`, and quality beside speed in `bench ab`."""
import http.server
import json
import os
import pathlib
import threading
import unittest

from support import BenchCase

NVML = os.environ.get("NVML_DOUBLE", "")
SCENARIO = pathlib.Path(__file__).resolve().parents[1] / "nvml_double" / "two_gpus.scenario"


class EndToEnd(BenchCase):
    def test_every_prompt_reaches_the_command_as_one_word(self):
        (self.dir / "p.txt").write_text("a cat\n# no\nit's; a \"dog\" $HOME\n")
        found = self.result("e2e", "printf '%s\\n' {prompt} >> seen", "--prompts", "p.txt", "--warmup", 0)
        self.assertEqual((self.dir / "seen").read_text(), "a cat\nit's; a \"dog\" $HOME\n")
        self.assertEqual(found["success"]["trials"], 2)
        self.assertEqual(found["schema"], "genscope.bench_e2e/1")
        self.assertEqual(len(found["result"]["cells"][0]["units"]), 2)

    def test_a_failure_exits_with_4(self):
        done = self.bench("e2e", "test {prompt} != bad", "--prompt", "bad", "--prompt", "good", code=4)
        self.assertIn("1 of 2 succeeded", done.stdout)
        self.assertIn("failed (exit_nonzero): bad", done.stdout)

    def test_ten_of_ten_only_shows_72(self):
        self.bench("e2e", "true", "--prompt", "x", "--repeat", 10, "--min-success", "70%")
        done = self.bench("e2e", "true", "--prompt", "x", "--repeat", 10, "--min-success", "95%", code=1)
        self.assertIn("at least 72 %", done.stdout)
        self.assertIn("73 without a failure would", done.stdout)
        self.bench("e2e", "false", "--prompt", "x", "--min-success", "95%", code=4)

    def test_a_blank_picture_is_a_failure(self):
        found = self.result("e2e", "printf 'P5 2 2 255\\n\\0\\0\\0\\0' > o.pgm", "--prompt", "x", "--output-file", "o.pgm",
                            code=4)
        self.assertEqual(found["failures"][0]["class"], "blank_output")

    def test_targets(self):
        self.bench("e2e", "sleep 0.05", "--prompt", "x", "--target", "1ms", code=1)
        self.bench("e2e", "true", "--prompt", "x", "--target", "10m")

    def test_wrong_words(self):
        for words in (["e2e", "true"], ["e2e", "true", "--prompt", "x", "--min-success", "950"],
                      ["e2e", "true", "--prompts", "none.txt"], ["gpu", "true", "--duration", "5"],
                      ["vlm", "true"], ["vlm", "--text-only", "true"], ["e2e", "true", "--prompt", "x", "--seeds", "a"]):
            self.assertTrue(self.bench(*words, code=(2, 5)).stderr, words)


class Gpus(BenchCase):
    def test_without_a_gpu_it_is_absent(self):
        self.env.update(GENSCOPE_NVML_LIBRARY="/nonexistent.so", GENSCOPE_SYS_ROOT="/nonexistent")
        found = self.result("gpu", "true", "--duration", "200ms")
        self.assertEqual(found["gpus"], [])
        self.assertIn("nvml", found["absent"]["gpus"])
        self.assertGreater(found["runs_per_second"], 0)
        done = self.bench("gpu", "true", "--duration", "100ms", "--min-busy", "80%", code=5)
        self.assertIn("no GPU", done.stdout)

    def test_with_gpus(self):
        if not os.path.exists(NVML):
            self.skipTest("the double is not built")
        self.env.update(GENSCOPE_NVML_LIBRARY=NVML, GENSCOPE_NVML_SCENARIO=str(SCENARIO))
        found = self.result("gpu", "sleep 0.2", "--duration", "2s")
        self.assertEqual([gpu["name"] for gpu in found["gpus"]], ["NVIDIA H100 80GB HBM3"] * 2)
        self.assertGreater(found["gpus"][0]["busy_ratio"]["mean"], 0.1)
        self.assertAlmostEqual(found["gpus"][0]["memory_efficiency_ratio"], 20e9 / 85520809984, delta=0.02)
        done = self.bench("gpu", "sleep 0.2", "--duration", "2s", "--min-busy", "99%", code=1)
        self.assertIn("at least 99 % is wanted", done.stdout)

    def test_energy_and_memory_of_a_command_are_judged_beside_its_time(self):
        """200 W above idle for as long as it runs, memory that grows by 100 MB a second: half as long again takes half as
        much again of both."""
        if not os.path.exists(NVML):
            self.skipTest("the double is not built")
        scenario = self.dir / "gpu.scenario"
        scenario.write_text("\n".join([
            "time real", "devices 1", "0 uuid = GPU-0", "0 pci = 0000:01:00.0", "0 index 0", "0 name = NVIDIA Double",
            "system driver = 570.86.15", "system cuda 12080", "* memory.total 85520809984", "* memory.free 65018542080",
            "* memory.used ramp 0:1000000000 1000:101000000000", "* busy.gpu 50",
            "* field.185 ramp 0:100000 2:100000 2.1:300000 1000:300000", "* field.186 300000", "* field.83 integral field.185",
            "* temperature 45", "* throttle 0", "* processes.compute none", "* processes.graphics none",
            "* processes.mps none", ""]))
        self.env.update(GENSCOPE_NVML_LIBRARY=NVML, GENSCOPE_NVML_SCENARIO=str(scenario))
        out = self.dir / "ab.json"
        text = self.bench("ab", "sleep 0.8", "sleep 1.2", "--units", 4, "--warmup", 1, "--export", f"json={out}", code=1).stdout
        self.assertRegex(text, r"Idle GPUs took 1\d\d W before the first run")
        result = json.loads(out.read_text())
        judged = {one["metric"]: one for one in result["comparisons"]}
        for metric in ("energy_j", "energy_net_j", "vram_peak_bytes"):
            with self.subTest(metric):
                self.assertEqual(judged[metric]["verdict"], "regressed", judged[metric])
                low, high = judged[metric]["ci"]
                self.assertTrue(1.1 < low <= judged[metric]["ratio"] <= high < 2.2, judged[metric])
        for unit in result["cells"][0]["units"]:
            for sample in unit["samples"]:
                self.assertAlmostEqual(sample["energy_j"] - sample["energy_idle_j"], sample["energy_net_j"], places=6)
        net = [s["energy_net_j"] / s["latency_s"] for u in result["cells"][0]["units"] for s in u["samples"]]
        self.assertTrue(all(120 < watts < 300 for watts in net), net)

    def test_a_command_that_never_works(self):
        self.bench("gpu", "false", "--duration", "30s", code=7)


class Chat(http.server.BaseHTTPRequestHandler):
    """An OpenAI chat that streams; what has an image has to wait."""
    bodies = []

    def do_POST(self):
        import time
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        type(self).bodies.append(body)
        if isinstance(body["messages"][0]["content"], list):
            time.sleep(0.05)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for word in ("a", " cat", "."):
            chunk = {"choices": [{"index": 0, "delta": {"content": word}}]}
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
            self.wfile.flush()
            time.sleep(0.005)
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, *words):
        pass


class Vlm(BenchCase):
    def test_two_commands(self):
        found = self.result("vlm", "--text-only", "true", "--with-image", "sleep 0.05", "--units", 6)
        self.assertGreater(found["image_adds_s"]["seconds"], 0.02)
        self.assertLess(found["image_adds_s"]["ci"][0], found["image_adds_s"]["ci"][1])
        self.assertIn("ttft_s", found["absent"])

    def test_one_command(self):
        (self.dir / "i.png").write_bytes(b"\x89PNG")
        self.bench("vlm", "echo {prompt} {image} >> seen", "--prompt", "what?", "--image", "i.png", "--units", 4)
        seen = (self.dir / "seen").read_text().splitlines()
        self.assertIn("what? i.png", seen)
        self.assertIn("what? ", seen)

    def test_a_chat_that_streams(self):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Chat)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        (self.dir / "i.png").write_bytes(b"\x89PNG\r\n")
        url = f"http://127.0.0.1:{server.server_port}/v1/chat/completions"
        found = self.result("vlm", url, "--model", "qwen2-vl", "--prompt", "what is \"this\"?", "--image", "i.png",
                            "--units", 4)
        self.assertGreater(found["ttft_s"]["image"]["median"], found["ttft_s"]["text"]["min"])
        self.assertGreater(found["tpot_s"]["text"]["median"], 0)
        images = [body for body in Chat.bodies if isinstance(body["messages"][0]["content"], list)]
        self.assertEqual(images[0]["model"], "qwen2-vl")
        self.assertEqual(images[0]["messages"][0]["content"][0]["text"], "what is \"this\"?")
        self.assertEqual(images[0]["messages"][0]["content"][1]["image_url"]["url"], "data:image/png;base64,iVBORw0K")


class Quality(BenchCase):
    def picture(self, name, change):
        body = bytes((x * 7 + y * 5 + (x * y * change) % 200) % 256 for y in range(24) for x in range(24))
        (self.dir / name).write_bytes(b"P5 24 24 255\n" + body)

    def test_faster_with_lower_quality_exits_with_1(self):
        self.picture("good.pgm", 0)
        self.picture("bad.pgm", 31)
        found = self.result("ab", "sleep 0.05; cp good.pgm out.pgm", "cp bad.pgm out.pgm", "--units", 6,
                            "--output-file", "out.pgm", code=1)
        self.assertEqual(found["comparisons"][0]["verdict"], "improved")
        self.assertEqual(found["quality"]["verdict"], "lower_quality")
        self.bench("ab", "sleep 0.05; cp good.pgm out.pgm", "cp good.pgm out.pgm", "--units", 6, "--output-file", "out.pgm")

    def test_a_metric_of_the_users_own(self):
        self.picture("good.pgm", 0)
        self.picture("other.pgm", 31)
        words = ["ab", "cp good.pgm out.pgm", "cp other.pgm out.pgm", "--units", 4, "--output-file", "out.pgm",
                 "--quality-command", "test -s {before} -a -s {after} && echo 0.05"]
        found = self.result(*words, "--quality", "score.max=0.1", code=(0, 1))
        self.assertEqual(found["quality"]["verdict"], "same_quality", found["quality"])
        found = self.result(*words, "--quality", "score.max=0.01", code=1)
        self.assertEqual(found["quality"]["verdict"], "lower_quality")
        self.bench(*words, "--quality", "score.mix=1", code=2)


if __name__ == "__main__":
    unittest.main()
