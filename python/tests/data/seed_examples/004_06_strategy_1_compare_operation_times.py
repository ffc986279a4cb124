monitor = PerformanceMonitor()

with monitor.track("data_loading"):
    data = load_data()

with monitor.track("preprocessing"):
    data = preprocess(data)

with monitor.track("model_forward"):
    output = model(data)

with monitor.track("post_processing"):
    result = post_process(output)

monitor.print_summary()

# Analyze
total_time = monitor.get_total_time()
for metric in monitor.get_metrics():
    percentage = (metric.duration_seconds / total_time) * 100
    if percentage > 50:
        print(f"⚠️  BOTTLENECK: {metric.operation} ({percentage:.1f}%)")
    elif percentage > 20:
        print(f"⚡ Consider optimizing: {metric.operation} ({percentage:.1f}%)")
