# Monitor specific GPUs
gpu_monitor = GPUMonitor(device_ids=[0, 1, 2, 3])
