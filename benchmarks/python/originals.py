"""What the originals must do at least, as the documents describe them and as they were seen to do.

Yardsticks of compat.py, not the originals: each does what a call cannot go without (a generator of
contextlib, the clock, the record that is kept), and nothing of its faults is added to make it slow.
"""
import collections
import contextlib
import dataclasses
import datetime
import threading
import time
from typing import Optional

try:
    import psutil
except ImportError:
    psutil = None
NO_PSUTIL = "psutil is not installed"


class Inferix:
    """As Inferix profiles: one stack for all threads, wall clock, a dict of each stage, a list of all
    metadata; a diffusion step is kept as a row and again as an event."""

    def __init__(self, enabled):
        self.enabled = enabled
        self.stack, self.stages, self.steps, self.events = [], {}, [], []

    @contextlib.contextmanager
    def stage(self, name, metadata=None):
        if not self.enabled:
            yield
            return
        self.stack.append((name, time.time()))
        try:
            yield
        finally:
            name, begin = self.stack.pop()
            took = time.time() - begin
            if name not in self.stages:
                self.stages[name] = {"total_time": 0.0, "call_count": 0, "min_time": float("inf"),
                                     "max_time": 0.0, "metadata": []}
            row = self.stages[name]
            row["total_time"] += took
            row["call_count"] += 1
            row["min_time"] = min(row["min_time"], took)
            row["max_time"] = max(row["max_time"], took)
            row["metadata"].append(metadata or {})

    def add_event(self, name, data=None):
        if self.enabled:
            self.events.append({"name": name, "timestamp": time.time(), "data": data or {}})

    def record_diffusion_step(self, step, timestep, block_size, computation_time_ms,
                              guidance_scale=None):
        if not self.enabled:
            return
        row = {"step": step, "timestep": timestep, "block_size": block_size,
               "computation_time_ms": computation_time_ms, "guidance_scale": guidance_scale}
        self.steps.append(row)
        self.add_event("diffusion_step", row)

    def clear(self):
        self.steps.clear()
        self.events.clear()
        for row in self.stages.values():
            row["metadata"].clear()


@dataclasses.dataclass
class Operation:
    operation: str
    duration_seconds: float
    cpu_start_mb: float
    cpu_end_mb: float
    cpu_delta_mb: float
    gpu_start_mb: float = 0.0
    gpu_end_mb: float = 0.0
    gpu_delta_mb: float = 0.0
    gpu_peak_mb: float = 0.0
    call_count: int = 1


class Training:
    """As training monitors do: the process's memory before and after, a record of each call; batches in a
    list."""

    def __init__(self, enabled=True, verbose_batches=5):
        self.enabled, self.verbose_batches = enabled, verbose_batches
        self.records, self.times, self.by_name = [], [], collections.defaultdict(list)
        self.process = psutil.Process() if psutil else None

    def memory(self):
        return self.process.memory_info().rss / 1024 / 1024

    @contextlib.contextmanager
    def track(self, operation, aggregate=False):
        if not self.enabled:
            yield
            return
        begin = time.perf_counter()
        before = self.memory()
        try:
            yield
        finally:
            after = self.memory()
            record = Operation(operation, time.perf_counter() - begin, before, after,
                               after - before)
            self.records.append(record)
            if aggregate:
                self.by_name[operation].append(record)

    def on_batch_start(self, batch_idx):
        if not self.enabled:
            return
        self.batch_begin = time.perf_counter()

    def on_batch_end(self, batch_idx, loss=None):
        if not self.enabled:
            return
        took = time.perf_counter() - self.batch_begin
        self.times.append(took)
        if batch_idx < self.verbose_batches:
            print(f"  Batch {batch_idx}: {took:.3f}s")

    def clear(self):
        self.records.clear()
        self.times.clear()
        self.by_name.clear()


@dataclasses.dataclass
class Metrics:
    """As many fields as a generation monitor's."""
    model_load_time: float = 0.0
    generation_time_per_step: float = 0.0
    total_generation_time: float = 0.0
    pipeline_setup_time: float = 0.0
    gpu_memory_used_gb: float = 0.0
    gpu_memory_total_gb: float = 0.0
    gpu_memory_utilization_percent: float = 0.0
    system_memory_used_gb: float = 0.0
    system_memory_utilization_percent: float = 0.0
    num_inference_steps: int = 0
    image_resolution: tuple = (0, 0)
    batch_size: int = 1
    target_met: bool = False
    target_generation_time: float = 5.0
    performance_score: float = 0.0
    architecture_type: str = "MMDiT"
    model_name: str = ""
    torch_dtype: str = "float16"
    device: str = "cuda"
    timestamp: Optional[str] = None
    gpu_name: str = ""
    driver_version: str = ""


class Generations:
    """As generation monitors do: the system's memory before and after, a record of each generation in a bounded
    history under a lock, steps in a list and in a bounded history. Without its log."""

    def __init__(self, target=5.0):
        self.target = target
        self.history, self.step_history = collections.deque(maxlen=100), collections.deque(maxlen=1000)
        self.lock = threading.Lock()
        self.steps = []

    def read_memory(self):
        memory = psutil.virtual_memory()
        self.current.system_memory_used_gb = memory.used / 1e9
        self.current.system_memory_utilization_percent = memory.percent

    @contextlib.contextmanager
    def monitor_generation(self, model_name="", architecture_type="MMDiT", num_steps=20,
                           resolution=(1024, 1024)):
        self.current = Metrics(model_name=model_name, architecture_type=architecture_type,
                               num_inference_steps=num_steps, image_resolution=resolution,
                               target_generation_time=self.target,
                               timestamp=datetime.datetime.now().isoformat())
        self.steps = []
        self.read_memory()
        begin = time.time()
        try:
            yield self
        finally:
            now = self.current
            now.total_generation_time = took = time.time() - begin
            now.generation_time_per_step = sum(self.steps) / len(self.steps) if self.steps \
                else took / num_steps
            self.read_memory()
            now.target_met = took <= self.target
            now.performance_score = min(100.0, self.target / took * 100) if took > 0 else 100.0
            with self.lock:
                self.history.append(now)

    def start_step_timing(self):
        self.step_begin = time.time()

    def end_step_timing(self):
        took = time.time() - self.step_begin
        self.steps.append(took)
        with self.lock:
            self.step_history.append(took)
        return took

    def clear(self):
        self.steps.clear()
