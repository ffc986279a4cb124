"""Functions that fresh processes of bench_test.py import."""
import os
import time

import genscope as gs


def pid(prompt, seed=None):
    return gs.bench.Sample(metrics={"pid": os.getpid()})


def slow():
    time.sleep(0.02)


def fast():
    time.sleep(0.002)


def dies():
    os._exit(3)


def hangs():
    time.sleep(600)
