# Reduce data points
config.max_data_points = 5000

# Increase monitoring intervals
config.gpu_monitor_interval = 1.0
config.cpu_monitor_interval = 2.0
