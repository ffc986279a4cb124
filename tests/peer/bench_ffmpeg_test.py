"""Videos through the real ffmpeg: what both sides made is decoded, compared, and agrees with ffmpeg's own PSNR."""
import json
import re
import shutil
import subprocess
import unittest

from bench_case import BenchCase

SIZE = "96x64"


@unittest.skipUnless(shutil.which("ffmpeg"), "ffmpeg is not installed (tools/setup peer)")
class Videos(BenchCase):
    def ffmpeg(self, *words):
        done = subprocess.run(["ffmpeg", "-nostdin", "-y", *map(str, words)], cwd=self.folder, capture_output=True,
                              text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr

    def video(self, name, *filters, frames=12):
        """A moving test picture; MP4 where there is an encoder for it, which Debian's ffmpeg has."""
        chain = ["-vf", ",".join(filters)] if filters else []
        self.ffmpeg("-f", "lavfi", "-i", f"testsrc=size={SIZE}:rate=12:duration=4", *chain, "-frames:v", frames,
                    "-pix_fmt", "yuv444p", "-c:v", "libx264", "-qp", "0" if not filters else "20", name)
        return name

    def compare(self, before, after, expect=0, *more):
        words = ("ab", f"cp {before} out.mp4", f"cp {after} out.mp4", "--output-file", "out.mp4", "--units", "4",
                 "--warmup", "0", "--effect", "100", "--json", *more)
        return json.loads(self.genscope(*words, expect=expect).stdout)["quality"]

    def test_psnr_is_that_of_ffmpeg(self):
        self.video("before.mp4")
        self.video("after.mp4", "noise=alls=12:allf=t:all_seed=7")
        quality = self.compare("before.mp4", "after.mp4", 0, "--quality", "ssim.min=0.1")
        said = self.ffmpeg("-i", "after.mp4", "-i", "before.mp4", "-lavfi", "psnr", "-f", "null", "-")
        theirs = float(re.search(r"PSNR .*average:([0-9.]+)", said).group(1))
        self.assertAlmostEqual(quality["pairs"][0]["psnr_db"], theirs, places=5)

    def test_the_same_frames_in_other_bytes_are_of_the_same_quality(self):
        self.video("before.mp4")
        self.ffmpeg("-i", "before.mp4", "-c:v", "libx264", "-qp", "0", "-preset", "ultrafast", "after.mp4")
        self.assertEqual(self.compare("before.mp4", "after.mp4")["verdict"], "same_quality")

    def test_a_blurred_video_is_of_lower_quality(self):
        self.video("before.mp4")
        self.video("after.mp4", "boxblur=8")
        self.assertEqual(self.compare("before.mp4", "after.mp4", 1)["verdict"], "lower_quality")

    def test_videos_of_other_lengths_and_broken_ones_are_named(self):
        self.video("before.mp4")
        self.video("after.mp4", "hue=h=1", frames=8)
        self.assertIn("frames", json.dumps(self.compare("before.mp4", "after.mp4", 0)))
        whole = (self.folder / "before.mp4").read_bytes()
        (self.folder / "broken.mp4").write_bytes(whole[:len(whole) // 3])
        words = ("ab", "cp before.mp4 out.mp4", "cp broken.mp4 out.mp4", "--output-file", "out.mp4", "--units", "4",
                 "--warmup", "0", "--json")
        self.assertIn("ffmpeg", self.genscope(*words, expect=4).stdout)


if __name__ == "__main__":
    unittest.main()
