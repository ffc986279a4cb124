from utils.performance_monitor import PerformanceMonitor

monitor = PerformanceMonitor(target_generation_time=5.0)

with monitor.monitor_generation(
    model_name="Qwen-Image",
    architecture_type="MMDiT",
    num_steps=20,
    resolution=(1024, 1024)
) as perf_monitor:
    # Your generation code here
    for step in range(20):
        perf_monitor.start_step_timing()
        # Generation step
        step_time = perf_monitor.end_step_timing()

# Get comprehensive results
summary = monitor.get_performance_summary()
print(f"Performance Score: {summary['current_generation']['performance_score']}/100")
