"""Callbacks that fail inside: the loop that calls them goes on, and the report says it once."""
import unittest

from harness import ProgramCase

LOOP = """
    import types
    import genscope as gs
    from genscope.callbacks.diffusers import StepCallback
    from genscope.callbacks.lightning import Marks as Lightning
    from genscope.callbacks.transformers import Marks as Transformers
    from genscope.hooks import loops

    class NoNumber:
        def __int__(self): raise RuntimeError("no number")

    def train():
        marks, state = Transformers(), types.SimpleNamespace(epoch=0, global_step=0)
        marks.on_train_begin(None, state, None)
        for epoch in range(2):
            marks.on_epoch_begin(None, state, None)
            for batch in range(3):
                marks.on_step_begin(None, state, None)
                assert marks.on_step_end(None, state, None) is None
                marks.on_log(None, state, None, logs={"loss": 1.0})
            marks.on_epoch_end(None, state, None)
        marks.on_train_end(None, state, None)
        assert loops.here.driven == 0

    def fit():
        marks, trainer = Lightning(), types.SimpleNamespace(current_epoch=epoch_number)
        marks.on_fit_start(trainer, None)
        for epoch in range(2):
            marks.on_train_epoch_start(trainer, None)
            for batch in range(3):
                marks.on_train_batch_start(trainer, None, None, batch)
                marks.on_train_batch_end(trainer, None, None, None, batch)
            marks.on_train_epoch_end(trainer, None)
        marks.on_fit_end(trainer, None)
        assert loops.here.driven == 0

    def generate():
        seen = []
        def mine(pipe, index, timestep, kwargs):
            seen.append(index)
            return {"mine": index}
        callback = StepCallback(mine)
        for index in range(4):
            assert callback(Pipeline(), index, 0, {}) == {"mine": index}
        callback.close()
        assert seen == [0, 1, 2, 3]

    class Pipeline:
        pass
    epoch_number = 0
    """
BREAK = """
    def broken(*args, **kwargs): raise RuntimeError("ours")
    loops.begin_batch = broken
    epoch_number = NoNumber()
    class Pipeline:
        @property
        def _num_timesteps(self): raise RuntimeError("not known")
    """
RUN = """
    with gs.session("test", run_dir="run", quiet=True, probes=[]):
        train(); fit(); generate()
    print("done")
    """


class Callbacks(ProgramCase):
    def failures(self):
        return [(row["target"], row["reason"]) for row in self.recorded().report()["instrument"]
                if not row["hooked"]]

    def test_whole(self):
        self.assertIn("done", self.python(LOOP + RUN).stdout)
        run = self.recorded()
        self.assertEqual(len(run.named("batch")), 12)
        self.assertEqual(len(run.named("epoch")), 4)
        self.assertEqual(self.failures(), [])

    def test_broken_inside(self):
        self.assertIn("done", self.python(LOOP + BREAK + RUN).stdout)
        self.assertEqual(self.failures(), [
            ("callbacks.transformers.on_step_begin", "RuntimeError('ours')"),
            ("callbacks.lightning.on_train_epoch_start", "RuntimeError('no number')"),
            ("callbacks.lightning.on_train_batch_start", "RuntimeError('ours')"),
            ("callbacks.diffusers", "RuntimeError('not known')")])
        run = self.recorded()
        self.assertEqual(len(run.named("batch")), 0)
        self.assertEqual(len(run.named("epoch")), 2)  # what can be marked is

    def test_the_users_own_exception_passes(self):
        done = self.python(LOOP + """
    def mine(*args): raise KeyError("theirs")
    try:
        StepCallback(mine)(Pipeline(), 0, 0, {})
    except KeyError as error:
        print("passed", error)
    """)
        self.assertIn("passed 'theirs'", done.stdout)

    def test_a_run_directory_that_goes_away(self):
        done = self.python(LOOP + """
    import shutil
    with gs.session("test", run_dir="gone", quiet=True, probes=[]):
        train()
        shutil.rmtree("gone")
        train(); fit(); generate()
    with gs.session("test", run_dir="/proc/nothing/here", quiet=True, probes=[]):
        train(); fit(); generate()
    print("done")
    """)
        self.assertIn("done", done.stdout)


if __name__ == "__main__":
    unittest.main()
