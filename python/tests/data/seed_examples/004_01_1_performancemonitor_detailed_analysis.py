from src.utils.memory_monitor import PerformanceMonitor

monitor = PerformanceMonitor()

with monitor.track("data loading"):
    data = load_large_dataset()

with monitor.track("preprocessing"):
    data = preprocess(data)

with monitor.track("model forward"):
    output = model(data)

monitor.print_summary()
