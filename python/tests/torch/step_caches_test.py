"""Step caches that tell nobody what they skip: it is seen from the blocks that ran."""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import tiny
from genscope import hooks
from recorded import RecordedCase

hooks.install(["torch", "diffusers"])


class StepCaches(RecordedCase):
    def test_steps_that_a_patched_cache_answered(self):
        """As TeaCache's scripts do: forward is replaced, and on a hit the blocks are left out."""
        pipe, arguments = tiny.flux(4)
        denoiser = pipe.transformer

        class Patched(type(denoiser)):
            enable_teacache, count = True, 0

            def forward(self, hidden_states, **kwargs):
                self.count += 1
                if self.count in (2, 3):
                    return (self.kept,)
                (self.kept,) = super().forward(hidden_states, **kwargs)
                return (self.kept,)
        denoiser.__class__ = Patched
        run = self.record(lambda: tiny.run(pipe, arguments))
        args = run.of("request")[0]["args"]
        self.assertEqual((args["steps"], args["cached_steps"], args["cache_hit_ratio"]), (4, 2, 0.5))
        blocks = [f["args"]["blocks"] for f in run.of("forward")]
        self.assertEqual(blocks[1:3], [0, 0])
        whole = len(denoiser.transformer_blocks) + len(denoiser.single_transformer_blocks)
        self.assertEqual((blocks[0], blocks[3]), (whole, whole))
        self.assertEqual([s["args"].get("cached_forwards") for s in run.of("step")], [None, 1, 1, None])
        self.assert_facts(run, ['set.cache == "teacache"'])


if __name__ == "__main__":
    unittest.main()
