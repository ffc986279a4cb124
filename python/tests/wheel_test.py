#!/usr/bin/env python3
"""The wheel, installed into an empty environment and used. It is packed from the build that is tested, as
`make wheel` packs a release."""
import glob
import os
import pathlib
import subprocess
import sys
import unittest

from harness import GENSCOPE, ProgramCase

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Wheel(ProgramCase):
    def clean(self):
        """An environment without a trace of the checkout."""
        return {"PATH": f"{self.folder / 'venv/bin'}:/usr/bin:/bin", "HOME": str(self.folder)}

    def call(self, *command):
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.folder,
                              env=self.clean(), timeout=120)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_it_installs_without_a_compiler_and_works(self):
        build = pathlib.Path(GENSCOPE).parent.parent
        subprocess.run([ROOT / "tools/wheel", build, self.folder / "dist"], check=True,
                       stdout=subprocess.DEVNULL)
        (wheel,) = glob.glob(str(self.folder / "dist/*.whl"))
        # RHEL 8, Debian 10, Ubuntu 18.10 and later; tools/wheel has checked every symbol.
        self.assertIn("-cp310-abi3-manylinux_2_28_", wheel)
        subprocess.run([sys.executable, "-m", "venv", self.folder / "venv"], check=True)
        pip = str(self.folder / "venv/bin/pip")
        self.call(pip, "install", "-q", "--no-index", "--disable-pip-version-check", wheel)
        self.assertIn("genscope ", self.call("genscope", "--version"))
        self.assertIn("genscope ", self.call("python", "-m", "genscope", "--version"))
        self.write("gen.py", '''
            import genscope as gs
            with gs.stage("denoise"):
                for i in gs.steps(range(4)): pass
        ''')
        said = self.call("genscope", "run", "--live", "never", "--no-gpu", "--run-dir", "run", "--",
                         "python", "gen.py")
        self.assertIn("denoise", said)
        stages = self.call("python", "-c",
                           "import genscope as gs; print([s['name'] for s in gs.load('run').stages()])")
        self.assertIn("denoise", stages)
        self.assertIn("Requires-Python: >=3.10", self.call(pip, "show", "-v", "genscope") + self.metadata())
        self.call(pip, "uninstall", "-q", "-y", "genscope")
        self.assertFalse(os.path.exists(self.folder / "venv/bin/genscope"))

    def metadata(self):
        (path,) = glob.glob(str(self.folder / "venv/lib/python3*/site-packages/genscope-*/METADATA"))
        return pathlib.Path(path).read_text()


if __name__ == "__main__":
    unittest.main()
