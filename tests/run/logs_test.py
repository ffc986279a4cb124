#!/usr/bin/env python3
"""`genscope run --logs`: every byte passes as it is, and known lines become stages and steps."""
import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
import unittest

from support import BIN, PATIENCE, PYTHON, RunCase, wait_until

# Prints what tqdm prints, without tqdm.
TQDM = r"""
import sys
def bar(label, n, total, end=""):
    sys.stderr.write(f"\r{label}{100 * n // total:3d}%|{'#' * n:<10}| {n}/{total} [00:0{n}<00:03,  2.40it/s]{end}")
    sys.stderr.flush()
for n in range(3): bar("Loading pipeline components...: ", n, 2)
sys.stderr.write("\n")
for n in range(6): bar("", n, 5)
bar("", 5, 5, "\n")
for n in (0, 3, 4): bar("upscale: ", n, 4)
print("done")
"""

COMFYUI = """\
Total VRAM 24210 MB, total RAM 64219 MB
Using pytorch attention in VAE
Using pytorch attention
got prompt
model weight dtype torch.float8_e4m3fn, manual cast: torch.bfloat16
model_type FLUX
Requested to load FluxClipModel_
loaded completely; 95367431640625005117571072.00 MB usable, 4777.54 MB loaded, full load: True
Requested to load Flux
loaded partially; 5000.00 MB usable, 4800.00 MB loaded, 6500.00 MB offloaded, 60.00 MB buffer reserved, lowvram patches: 0
got prompt
BARRequested to load AutoencodingEngine
loaded completely; 10000.00 MB usable, 159.87 MB loaded, full load: True
Prompt executed in 14.23 seconds
Prompt executed in 1.50 seconds
"""

SDCPP = """\
[INFO ] stable-diffusion.cpp:713  - loading model from 'sd.gguf'
[INFO ] stable-diffusion.cpp:791  - loading vae from 'vae.safetensors'
\r  |#####                | 400/1131 - 900.12MB/s\033[K\r  |#################| 1131/1131 - 1.10GB/s\033[K
[INFO ] model_loader.cpp:1304 - loading tensors completed, taking 0.61s (read: 0.20s, memcpy: 0.00s, convert: 0.05s, copy_to_backend: 0.31s)
[INFO ] stable-diffusion.cpp:5628 - generate_image 512x768
[INFO ] stable-diffusion.cpp:5296 - get_learned_condition completed, taking 0.32s
[INFO ] stable-diffusion.cpp:5679 - generating image: 1/1 - seed 42
[INFO ] stable-diffusion.cpp:4380 - sampling using Euler A method
\r  |=====>               | 1/3 - 1.20s/it\033[K\r  |==========>  | 2/3 - 1.10it/s\033[K\r  |==============| 3/3 - 1.20s/it\033[K
[INFO ] stable-diffusion.cpp:5711 - sampling completed, taking 3.60s
[INFO ] stable-diffusion.cpp:5321 - decoding 1 latents
[INFO ] stable-diffusion.cpp:5391 - decode_first_stage completed, taking 410 ms
[INFO ] stable-diffusion.cpp:5861 - generate_image completed in 4.40s
"""


class Logs(RunCase):
    def spans(self):
        runs = self.runs()
        self.assertEqual(len(runs), 1, runs)
        text = subprocess.run([BIN, "report", str(runs[0]), "--spans", "-f", "json"],
                              stdout=subprocess.PIPE, check=True).stdout.decode()
        return [json.loads(line) for line in text.splitlines()]

    def printed(self, text, options=("--logs", "auto", "--no-gpu")):
        """Runs a program that prints this, and its spans."""
        file = self.dir / "log"
        file.write_text(text)
        done = self.run_it("cat", str(file), options=options)
        self.assertEqual(done.stdout.decode(), text)
        return self.spans()

    def names(self, spans, *kinds):
        return [span["name"] for span in spans if span["kind"] in kinds]

    def test_without_the_option_nothing_is_read(self):
        self.assertEqual(self.printed(SDCPP, options=("--no-gpu",)), [])

    def test_tqdm_bars(self):
        done = self.run_it(PYTHON, "-c", TQDM, options=("--logs", "tqdm", "--no-gpu", "--instrument", "none"))
        self.assertEqual(done.stdout, b"done\n")
        self.assertTrue(done.stderr.startswith(b"\rLoading pipeline components...:   0%|"))
        spans = self.spans()
        self.assertEqual(self.names(spans, "load"), ["Loading pipeline components..."])
        self.assertEqual(self.names(spans, "stage"), ["progress", "upscale"])
        stages = {span["id"]: span for span in spans if span["kind"] == "stage"}
        steps = [span for span in spans if span["kind"] == "step"]
        by_stage = {name: [span for span in steps if stages[span["parent"]]["name"] == name]
                    for name in ("progress", "upscale")}
        self.assertEqual([span["args"]["index"] for span in by_stage["progress"]], [0, 1, 2, 3, 4])
        self.assertEqual([(span["args"]["index"], span["args"].get("steps"))
                          for span in by_stage["upscale"]], [(0, 3), (3, None)])
        self.assertTrue(all(span["args"]["source"] == "log" for span in spans))
        self.assertTrue(all(span["track"] == "logs" for span in spans), spans[0])

    def test_comfyui(self):
        bars = "".join(f"\r{25 * n:3d}%|##   | {n}/4 [00:01<00:02,  1.9it/s]" for n in range(5)) + "\n"
        spans = self.printed(COMFYUI.replace("BAR", bars), options=("--logs", "comfyui", "--no-gpu"))
        self.assertEqual(self.names(spans, "request"), ["prompt", "prompt"])
        self.assertEqual(self.names(spans, "load"), ["FluxClipModel_", "Flux", "AutoencodingEngine"])
        self.assertEqual(self.names(spans, "stage"), ["denoise"])
        self.assertEqual(len(self.names(spans, "step")), 4)
        first, second = (span for span in spans if span["kind"] == "request")
        self.assertEqual(first["args"]["reported_seconds"], 14.23)
        self.assertEqual(second["args"]["reported_seconds"], 1.5)
        for span in spans:
            if span["kind"] in ("load", "stage"):
                self.assertEqual(span["parent"], first["id"], span)
        flux = next(span for span in spans if span["name"] == "Flux")
        self.assertEqual(flux["args"]["partial"], 1)

    def test_stable_diffusion_cpp(self):
        spans = self.printed(SDCPP)
        self.assertEqual([(span["kind"], span["name"]) for span in spans], [
            ("load", "model"), ("request", "generate"), ("stage", "text_encode"),
            ("stage", "denoise"), ("step", "step"), ("step", "step"), ("step", "step"),
            ("stage", "vae_decode")])
        by_name = {span["name"]: span for span in spans}
        self.assertEqual((by_name["generate"]["args"]["width"], by_name["generate"]["args"]["height"]),
                         (512, 768))
        self.assertEqual(by_name["denoise"]["args"]["reported_seconds"], 3.6)
        self.assertEqual(by_name["vae_decode"]["args"]["reported_seconds"], 0.41)
        self.assertFalse(any("incomplete" in span["args"] for span in spans))

    def test_a_program_that_dies_leaves_ended_spans(self):
        cut = SDCPP[:SDCPP.index("\r  |==========>")]
        spans = self.printed(cut)
        self.assertEqual({span["name"] for span in spans if span["args"].get("incomplete")},
                         {"generate", "denoise", "step"})
        self.assertTrue(all(not span["flags"] or "unfinished" not in span["flags"] for span in spans))

    def test_any_bytes_pass(self):
        data = os.urandom(3_000_000) + b"\n\r\x1b[31m\0" * 1000 + os.urandom(17)
        (self.dir / "data").write_bytes(data)
        done = self.run_it("sh", "-c", f"cat {self.dir}/data; cat {self.dir}/data >&2; exit 5",
                           options=("--logs", "auto", "--no-gpu"))
        self.assertEqual(done.returncode, 5)
        self.assertEqual(done.stdout, data)
        self.assertTrue(done.stderr.startswith(data))

    def test_much_passes_and_one_stream_keeps_its_order(self):
        process = subprocess.run(
            f"{BIN} run --logs auto --no-gpu --live never -- sh -c "
            "'i=0; while [ $i -lt 200 ]; do echo out $i; echo err $i >&2; i=$((i+1)); done' 2>&1",
            shell=True, env=self.env, stdout=subprocess.PIPE, timeout=PATIENCE)
        lines = process.stdout.decode().splitlines()[:400]
        self.assertEqual(lines, [f"{name} {i}" for i in range(200) for name in ("out", "err")])
        done = self.run_it("sh", "-c", "head -c 100000000 /dev/zero",
                           options=("--logs", "auto", "--no-gpu"))
        self.assertEqual(len(done.stdout), 100_000_000)

    def test_output_comes_at_once(self):
        process = self.start("sh", "-c", "printf 'no newline'; exec sleep 60",
                             options=("--logs", "auto", "--no-gpu", "--live", "never"))
        ready, _, _ = select.select([process.stdout], [], [], PATIENCE)
        self.assertTrue(ready)
        self.assertEqual(os.read(process.stdout.fileno(), 100), b"no newline")
        self.assertIsNone(process.poll())

    def test_who_stops_reading_stops_the_command(self):
        done = subprocess.run(
            f"{BIN} run --logs auto --no-gpu --live never -- yes 2>/dev/null | head -n 3; "
            "echo ${PIPESTATUS[0]}", shell=True, executable="/bin/bash", env=self.env,
            stdout=subprocess.PIPE, timeout=PATIENCE)
        self.assertEqual(done.stdout, b"y\ny\ny\n%d\n" % (128 + signal.SIGPIPE))

    def test_what_is_left_running_can_go_on_writing(self):
        done = self.dir / "done"
        process = subprocess.run(
            [BIN, "run", "--logs", "auto", "--no-gpu", "--live", "never", "--", "sh", "-c",
             f"(sleep 2; echo later; touch {done}) & echo now"], env=self.env,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=PATIENCE)
        self.assertEqual(process.stdout, b"now\nlater\n")
        self.assertTrue(done.exists())

    def test_a_terminal_stays_one_of_the_same_size(self):
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 77, 0, 0))
        program = ("import os, sys; print(os.isatty(1), os.isatty(2), os.get_terminal_size(1), flush=True); "
                   "input(); print(os.get_terminal_size(2), flush=True)")
        process = subprocess.Popen(
            [BIN, "run", "--logs", "auto", "--no-gpu", "--live", "never", "--instrument", "none",
             "--", PYTHON, "-c", program], env=self.env, stdin=subprocess.PIPE,
            stdout=theirs, stderr=theirs)
        self.addCleanup(process.kill)
        seen = b""

        def read(until):
            nonlocal seen
            end = time.monotonic() + PATIENCE
            while until not in seen and time.monotonic() < end:
                if select.select([ours], [], [], 0.1)[0]:
                    seen += os.read(ours, 4096)
            self.assertIn(until, seen)

        read(b"True True os.terminal_size(columns=77, lines=33)\r\n")
        self.assertNotIn(b"\r\r", seen)
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 20, 50, 0, 0))
        process.send_signal(signal.SIGWINCH)
        time.sleep(0.3)
        process.stdin.write(b"\n")
        process.stdin.close()
        read(b"os.terminal_size(columns=50, lines=20)")
        read(b"Recorded in")
        self.assertEqual(process.wait(PATIENCE), 0)

    def test_stages_are_in_the_summary(self):
        file = self.dir / "log"
        file.write_text(SDCPP)
        done = self.run_it("cat", str(file), options=("--logs", "sdcpp", "--no-gpu", "--full"))
        self.assertIn(b"text_encode", done.stderr)
        self.assertIn(b"lines of the log", done.stderr)

    def test_an_unknown_format_is_a_usage_error(self):
        done = self.run_it("true", options=("--logs", "nosuch"))
        self.assertEqual(done.returncode, 2)
        self.assertEqual(self.runs(), [])


if __name__ == "__main__":
    unittest.main()
