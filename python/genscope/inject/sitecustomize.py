"""Start-up of a Python program under `genscope run`: waits for a library that can be hooked.

The command puts this folder at the head of PYTHONPATH. Python imports `sitecustomize` before the
program; a sitecustomize of the user's own is run after this one, as if ours were not there.

Most Python programs that a run starts (a build script, a worker of a data loader, `python -c`) never
import what we hook. They pay for one finder that compares a name; the package is loaded when the
program first imports one of WAKING, and its hooks see that import from its beginning.

Stacks: if $GENSCOPE_STACKS asks for them, a program that still runs after DELAY seconds gets a thread
that samples them, see Stacks. Until then it has one that sleeps and is not Python's.

What fails here is not the program's business: a note in the run's folder says it, and the summary of
`genscope run` shows it. Any Python can read this file, older ones than genscope's too.
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))

# The packages that hooks wait for (a test compares with what they register), and genscope itself,
# which need not be installed for this interpreter.
WAKING = frozenset(("genscope", "torch", "diffusers", "transformers", "accelerate", "lightning",
                    "pytorch_lightning", "execution", "comfy", "comfy_execution", "k_diffusion", "vllm",
                    "sglang"))


def note(error):
    if os.environ.get("GENSCOPE_DEBUG"):
        sys.stderr.write("genscope: Python is not instrumented: %r\n" % (error,))
    try:
        folder = os.environ.get("GENSCOPE_RUN_DIR")
        if folder and os.path.isdir(folder):
            file = open(os.path.join(folder, "%d.python-note" % os.getpid()), "w")
            file.write("%s: %s\n" % (sys.executable or "python", error))
            file.close()
    except Exception:
        pass


def load_package():
    """Loads genscope and its hooks; never while Stacks loads the core."""
    with STACKS[0].lock if STACKS else Nothing():
        load_package_alone()


class Nothing(object):
    def __enter__(self):
        pass

    def __exit__(self, *ending):
        pass


def load_package_alone():
    import importlib.util
    package = os.path.dirname(HERE)
    spec = importlib.util.spec_from_file_location(
        "genscope", os.path.join(package, "__init__.py"), submodule_search_locations=[package])
    module = importlib.util.module_from_spec(spec)
    sys.modules["genscope"] = module
    if STACKS and STACKS[0].core is not None:  # one recorder, one module
        sys.modules["genscope._core"] = module._core = STACKS[0].core
    try:
        spec.loader.exec_module(module)
        from genscope import hooks
        hooks.install_from_environment()
    except BaseException:
        for name in [n for n in sys.modules if n == "genscope" or n.startswith("genscope.")]:
            del sys.modules[name]
        raise


class Loaded(object):
    """Gives `import genscope` the module that is there already."""

    def __init__(self, module):
        self.module = module
        self.spec = module.__spec__

    def create_module(self, spec):
        return self.module

    def exec_module(self, module):
        # The import has put its own spec into the module.
        module.__spec__ = self.spec
        module.__loader__ = self.spec.loader


def load_extension(name, path):
    """An extension module that is in no list of modules. Imports nothing."""
    import _imp
    from _frozen_importlib import ModuleSpec
    spec = ModuleSpec(name, None, origin=path)
    module = _imp.create_dynamic(spec)
    _imp.exec_dynamic(module)
    return module


class Stacks(object):
    """Samples the stacks of this process, from DELAY seconds after its start on.

    The core is loaded only then, by a thread that is not Python's, and into no list of modules: a
    program sees neither. Python's threads must not be beside a fork, so ours end before it.
    """
    DELAY = 0.3
    # From 3.12 on Python warns of a fork beside any thread, the one that writes the trace included; some versions
    # count them after os.register_at_fork's functions for the parent. So the parent's sampling ends with a fork.
    WARNS_OF_THREADS = sys.version_info >= (3, 12)

    def __init__(self, rate, until_marked):
        self.rate = rate
        self.until_marked = until_marked
        self.core = None
        import _thread
        self.lock = _thread.allocate_lock()
        self.path = os.path.join(os.path.dirname(HERE), "_core.abi3.so")
        self.later = load_extension(
            "_later", os.path.join(os.path.dirname(HERE), "_later.abi3.so"))

    def start(self):
        import atexit
        atexit.register(self.stop)
        os.register_at_fork(before=self.before_fork, after_in_parent=self.go_on, after_in_child=self.begin)
        self.wait()

    def wait(self):
        self.later.start(self.DELAY, self.path, self.load)

    def load(self):
        """Called later, on that thread."""
        try:
            with self.lock:
                core = sys.modules.get("genscope._core")
                self.core = core if core is not None else load_extension("genscope._core", self.path)
            self.core.start_stacks(self.rate, self.until_marked)
        except BaseException as error:
            note(error)

    def stop(self, reason=""):
        """How many threads it ended."""
        ended = int(self.later.stop())
        if self.core is not None:
            ended += self.core.stop_stacks(reason)
        return ended

    def before_fork(self):
        if not self.WARNS_OF_THREADS:
            self.stop()
            return
        try:
            before = os.stat("/proc/self/task").st_nlink
        except OSError:
            before = 0
        ended = self.stop("the program forked: Python 3.12 and later warn of threads beside a fork")
        if self.core is not None:
            ended += self.core.end_stacks_trace()
        # A thread that was joined is counted until the kernel has put it away.
        for _ in range(1000):
            if not ended or not before or os.stat("/proc/self/task").st_nlink <= before - ended:
                break
            os.sched_yield()

    def go_on(self):
        if self.WARNS_OF_THREADS:
            return
        if self.core is not None:
            self.core.resume_stacks()
        else:
            self.wait()

    def begin(self):
        if self.core is not None:
            self.core.forget_stacks()
        self.wait()


STACKS = []  # one, or none


def start_stacks():
    """$GENSCOPE_STACKS: samples a second, "auto:50" until the program records something itself."""
    word = os.environ.get("GENSCOPE_STACKS", "")
    until_marked = word.startswith("auto:")
    try:
        rate = float(word[5:] if until_marked else word or 0)
        gil = getattr(sys, "_is_gil_enabled", lambda: True)()
        if rate > 0 and gil and sys.implementation.name == "cpython":
            stacks = Stacks(rate, until_marked)
            stacks.start()
            STACKS.append(stacks)
    except Exception as error:  # a subinterpreter, or an installation without it
        if os.environ.get("GENSCOPE_DEBUG"):
            sys.stderr.write("genscope: stacks are not sampled: %r\n" % (error,))


class Waiting(object):
    """A finder that finds nothing, but loads genscope before the first library that it hooks.

    It stays in sys.meta_path when that is done, and asks the others again: a second thread that came
    meanwhile waited for the lock, and its walk through the list has passed the place where the hooks
    stand now. What is loaded under the lock is genscope and the standard library, which imports none
    of WAKING.
    """

    def __init__(self):
        import _thread
        self.lock = _thread.RLock()
        self.woken = False

    def find_spec(self, name, path=None, target=None):
        if name not in WAKING:
            return None
        with self.lock:
            if not self.woken:
                self.woken = True  # what the package imports below comes here again
                if not self.wake():
                    return None
                if name == "genscope":
                    from importlib.machinery import ModuleSpec
                    return ModuleSpec(name, Loaded(sys.modules["genscope"]))
        return self.others(name, path, target)

    @staticmethod
    def wake():
        if "genscope" in sys.modules:
            return False
        try:
            load_package()
        except Exception as error:
            note(error)
            return False
        return True

    def others(self, name, path, target):
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find is not None and finder is not self else None
            if spec is not None:
                return spec
        return None


def start():
    sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != HERE]
    if "genscope" not in sys.modules and os.environ.get("GENSCOPE_DISABLE") != "1":
        hooks = os.environ.get("GENSCOPE_INSTRUMENT") != "none"
        if sys.version_info < (3, 10):
            if hooks:
                note("it is older than 3.10")
        else:
            if hooks:
                sys.meta_path.insert(0, Waiting())
            start_stacks()
    # The user's own, if there is one further down the path.
    ours = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # noqa: F401
    except ImportError as error:
        if getattr(error, "name", "sitecustomize") != "sitecustomize":
            raise
    finally:
        if ours is not None:  # import looks for the name when ours is done
            sys.modules.setdefault("sitecustomize", ours)


start()
