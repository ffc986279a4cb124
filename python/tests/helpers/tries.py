"""Runs something once for each allocation that may fail, each time in a process of its own.

Below LD_PRELOAD=faults.so. A process is forked before anything was recorded, so that what is made
once fails as well. It must end by itself, with a code of its own; the interpreter's own end takes
longer than all else, so that most do without.
"""
import ctypes
import mmap
import os
import sys
import traceback

faults = ctypes.PyDLL(os.environ["GENSCOPE_PYTHON_FAULTS"])
faults.fault_call.restype = ctypes.py_object
faults.fault_call.argtypes = [ctypes.py_object] * 3
NEW, MALLOC, PYTHON = range(3)
OWN_CODE = 7


def in_child(what, leave=sys.exit):
    """What it returns, an int."""
    told = mmap.mmap(-1, 8)
    child = os.fork()
    if child == 0:
        try:
            told[:8] = what().to_bytes(8, "little")
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        leave(OWN_CODE)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code == OWN_CODE, f"it ended with {code}"
    return int.from_bytes(told[:8], "little")


def with_fault(kind, n, all_after, what):
    """How many allocations there were."""
    faults.fault_set(kind, n, all_after)
    what()
    count = faults.fault_count()
    faults.fault_set(kind, 0, 0)
    return count


def each(kind, run, step=1, alone=False):
    """Calls run(fault), and that fault(what), where the nth fails; for every fifth n, unless
    `alone`, all after it as well. How many n there were."""
    tried, n = 0, 1
    while True:
        for all_after in (0, 1) if tried % 5 == 0 and not alone else (0,):
            try:
                count = in_child(lambda: run(lambda what: with_fault(kind, n, all_after, what)),
                                 sys.exit if tried % 20 == 0 else os._exit)
            except AssertionError as error:
                raise AssertionError(f"{error} as allocation {n} fails, all after: {all_after}")
        if count < n:
            return tried
        tried += 1
        n += step
