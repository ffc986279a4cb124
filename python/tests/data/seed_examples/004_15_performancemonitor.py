monitor = PerformanceMonitor(enabled=True, device=0)

with monitor.track("operation_name", aggregate=False):
    # ... code to profile ...
    pass

monitor.print_summary(show_aggregate=True)
monitor.get_total_time()  # Total time across all operations
monitor.get_operation_time("operation_name")  # Time for specific op
monitor.clear()  # Reset all metrics
