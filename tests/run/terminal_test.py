#!/usr/bin/env python3
"""The live block of `genscope run` in a real terminal, and what is left of it afterwards."""
import os
import re
import shutil
import signal
import subprocess
import sys
import unittest

from support import BIN, PYTHON, TINYDIFF, RunCase, wait_until

PRINTER = """
import sys, time
for i in range(int(sys.argv[1])):
    print("line", i, flush=True)
    time.sleep(float(sys.argv[2]))
"""


@unittest.skipUnless(shutil.which("tmux"), "there is no tmux")
class TerminalCase(RunCase):
    width, height = 100, 30
    extra = {}

    def setUp(self):
        super().setUp()
        self.socket = f"genscope-test-{os.getpid()}-{self.id().rsplit('.', 1)[-1][:40]}"
        env = dict(self.env, PS1="$ ", TERM="xterm", HISTFILE="", GENSCOPE_BIN=BIN, **self.extra)
        env.pop("TMUX", None)
        self.tmux("new-session", "-d", "-x", str(self.width), "-y", str(self.height),
                  "bash", "--norc", "--noprofile", env=env)
        self.addCleanup(self.tmux, "kill-server")
        self.wait_for(r"^\$")

    def tmux(self, *words, env=None):
        return subprocess.run(["tmux", "-u", "-L", self.socket, "-f", "/dev/null", *words], env=env,
                              check=True, timeout=60, stdout=subprocess.PIPE, text=True).stdout

    def screen(self, *options):
        """The lines that are shown, as a list."""
        return self.tmux("capture-pane", "-p", *options).split("\n")[:-1]

    def wait_for(self, pattern, count=1):
        """Waits until so many lines of the screen match."""
        try:
            wait_until(lambda: sum(1 for line in self.screen() if re.search(pattern, line)) >= count,
                       f"line like {pattern}")
        except AssertionError as error:
            raise AssertionError(f"{error}:\n" + "\n".join(self.screen())) from None

    def wait_gone(self, pattern):
        wait_until(lambda: not any(re.search(pattern, line) for line in self.screen()),
                   f"end of {pattern}")

    def type(self, text):
        self.tmux("send-keys", "-l", text)
        self.tmux("send-keys", "Enter")

    def facts(self):
        text = self.tmux("display-message", "-p",
                         "#{cursor_flag} #{scroll_region_upper} #{scroll_region_lower} "
                         "#{wrap_flag} #{alternate_on} #{pane_height}")
        return [int(word) for word in text.split()]

    def expect_restored(self):
        """The terminal is as a program without a block would leave it, and the prompt works."""
        visible, upper, lower, wrap, alternate, height = self.facts()
        self.assertEqual((visible, upper, lower, wrap, alternate), (1, 0, height - 1, 1, 0))
        self.type("echo us''able $?")
        self.wait_for(r"^usable \d+$")


class Block(TerminalCase):
    def test_stays_at_the_bottom_while_output_scrolls_above(self):
        script = self.dir / "printer.py"
        script.write_text(PRINTER)
        self.type(f'"$GENSCOPE_BIN" run --no-gpu -- {PYTHON} {script} 60 0.05; echo code $?')
        self.wait_for(r"^line 4\d")
        lines = self.screen()
        block = next(i for i, line in enumerate(lines) if line.startswith("genscope "))
        self.assertRegex(lines[block], r"^genscope .* 0:\d\d$")
        self.assertEqual(len(lines[block]), self.width)
        for offset, pattern in enumerate((r"^CPU      .+ cores", r"^memory   \d", r"^I/O      read ",
                                          r"^machine  CPU "), start=1):
            self.assertRegex(lines[block + offset], pattern)
        self.assertEqual(block + 5, self.height, lines)
        above = [line for line in lines[:block] if line.startswith("line ")]
        numbers = [int(line.split()[1]) for line in above]
        self.assertEqual(numbers, list(range(numbers[0], numbers[0] + len(numbers))))
        self.assertGreater(len(numbers), 15, lines)
        self.wait_for(r"^code 0$")
        self.expect_restored()
        everything = self.screen("-S", "-")
        self.assertEqual([l for l in everything if re.match(r"line \d+$", l)],
                         [f"line {i}" for i in range(60)])
        self.assertFalse([l for l in everything if re.match(r"machine  CPU", l)], everything)

    def test_ctrl_c_ends_the_command_and_the_run_is_written(self):
        self.type('"$GENSCOPE_BIN" run --no-gpu -- sleep 1000; echo code $?')
        self.wait_for(r"^CPU      ")
        self.tmux("send-keys", "C-c")
        self.wait_for(r"SIGINT")
        self.wait_for(r"^code 130$")
        self.assertEqual(self.manifest()["exit_code"], 130)
        self.expect_restored()

    def test_ctrl_c_reaches_the_command_once(self):
        script = self.dir / "count.py"
        script.write_text("import signal, time\nn = 0\ndef f(*_):\n    global n\n    n += 1\n"
                          "signal.signal(signal.SIGINT, f)\nprint('ready', flush=True)\n"
                          "while n == 0: time.sleep(0.01)\ntime.sleep(1)\nprint('count', n)\n")
        self.type(f'"$GENSCOPE_BIN" run --no-gpu -- {PYTHON} {script}; echo code $?')
        self.wait_for(r"^ready$")
        self.tmux("send-keys", "C-c")
        self.wait_for(r"count 1$")  # after the echoed ^C
        self.wait_for(r"^code 0$")
        self.expect_restored()

    def test_terminating_genscope_restores_the_terminal(self):
        self.type('"$GENSCOPE_BIN" run --no-gpu -- sleep 1000; echo code $?')
        self.wait_for(r"^CPU      ")
        shell = self.tmux("display-message", "-p", "#{pane_pid}").strip()
        with open(f"/proc/{shell}/task/{shell}/children") as file:
            os.kill(int(file.read().split()[0]), signal.SIGTERM)
        self.wait_for(r"^code 143$")
        self.expect_restored()

    def test_ctrl_z_gives_the_terminal_back_and_fg_goes_on(self):
        self.type('"$GENSCOPE_BIN" run --no-gpu -- sh -c "sleep 4; exit 7"')
        self.wait_for(r"^CPU      ")
        self.tmux("send-keys", "C-z")
        self.wait_for(r"Stopped")
        self.wait_gone(r"^CPU      ")
        self.expect_restored()
        self.type("fg; echo code $?")
        self.wait_for(r"^CPU      ")
        self.wait_for(r"^code 7$")
        self.expect_restored()

    def test_follows_a_resize(self):
        self.type('"$GENSCOPE_BIN" run --no-gpu -- sh -c "echo begin; sleep 8; echo end"; '
                  'echo code $?')
        self.wait_for(r"^machine  ")
        for width, height in ((60, 20), (110, 35)):
            self.tmux("resize-window", "-x", str(width), "-y", str(height))
            wait_until(lambda: re.match(r"machine  ", (self.screen() or [""])[-1]) and
                       len(next(l for l in self.screen() if l.startswith("genscope "))) == width,
                       f"block at the bottom of {width}x{height}")
        self.wait_for(r"^code 0$")
        self.assertEqual(sum(1 for l in self.screen() if l == "begin"), 1)
        self.assertFalse([l for l in self.screen() if l.startswith("machine  ")], self.screen())
        self.expect_restored()

    def test_steps_aside_for_programs_that_read_keys(self):
        script = self.dir / "keys.py"
        script.write_text("import sys, termios, tty\nold = termios.tcgetattr(0)\ntty.setcbreak(0)\n"
                          "print('press', flush=True)\nc = sys.stdin.read(1)\n"
                          "termios.tcsetattr(0, termios.TCSANOW, old)\nprint('got', c)\n")
        self.type(f'"$GENSCOPE_BIN" run --no-gpu -- {PYTHON} {script}; echo code $?')
        self.wait_for(r"^press$")
        self.tmux("send-keys", "x")
        self.wait_for(r"^got x$")
        self.wait_for(r"^code 0$")
        self.expect_restored()

    def test_never_means_never(self):
        self.type('"$GENSCOPE_BIN" run --no-gpu --live never -- sleep 1; echo code $?')
        self.wait_for(r"^code 0$")
        self.assertFalse([l for l in self.screen("-S", "-") if l.startswith("machine  ")])

    def test_a_command_of_the_shell_in_the_background_is_not_drawn(self):
        self.type('"$GENSCOPE_BIN" run --no-gpu -- sleep 2 & wait; echo code $?')
        self.wait_for(r"^code 0$")
        self.assertFalse([l for l in self.screen("-S", "-") if l.startswith("machine  ")])
        self.expect_restored()

    def test_the_stage_is_shown_with_its_steps(self):
        if not TINYDIFF:
            self.skipTest("tinydiff is not built")
        self.type(f'"$GENSCOPE_BIN" run --no-gpu -- {TINYDIFF} --steps 400 --out {self.dir}/; '
                  'echo code $?')
        self.wait_for(r"^stage    .*\d+/400 .*ETA")
        self.tmux("send-keys", "C-c")
        self.wait_for(r"^code 130$")
        self.expect_restored()


class Narrow(TerminalCase):
    width, height = 20, 40

    def test_twenty_columns_are_enough(self):
        self.type('"$GENSCOPE_BIN" run --no-gpu -- sleep 3')
        self.wait_for(r"^CPU ")
        lines = self.screen()
        self.assertRegex(lines[-5], r"^genscope +\S* +0:\d\d$")
        self.wait_for(r"^Recorded in")
        self.expect_restored()


class Colours(TerminalCase):
    def test_colours_are_used(self):
        self.type('"$GENSCOPE_BIN" run --no-gpu -- sleep 3')
        self.wait_for(r"^CPU  ")
        self.assertTrue([l for l in self.screen("-e") if "\x1b[1mgenscope" in l])


class NoColour(TerminalCase):
    extra = {"NO_COLOR": "1"}

    def test_no_colour_means_none(self):
        self.type('"$GENSCOPE_BIN" run --no-gpu -- sleep 3')
        self.wait_for(r"^CPU  ")
        self.assertNotIn("\x1b", "\n".join(self.screen("-e")))


class Dumb(TerminalCase):
    def test_a_dumb_terminal_gets_no_block(self):
        self.type('TERM=dumb "$GENSCOPE_BIN" run --no-gpu -- sleep 1; echo code $?')
        self.wait_for(r"^code 0$")
        self.assertFalse([l for l in self.screen("-S", "-") if l.startswith("machine  ")])


class Low(TerminalCase):
    height = 6

    def test_a_terminal_too_low_gets_no_block(self):
        self.type('"$GENSCOPE_BIN" run --no-gpu -- sleep 1; echo code $?')
        self.wait_for(r"^code 0$")
        self.assertEqual(self.facts()[1:3], [0, self.height - 1])


if __name__ == "__main__":
    if not shutil.which("tmux"):
        print("skipped: there is no tmux", file=sys.stderr)
    unittest.main()
