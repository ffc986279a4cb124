# Monitor memory usage
memory_info = await optimizer.gpu_manager.get_memory_info()
for device, info in memory_info.items():
    print(f"{device}: {info['allocated'] / info['total']:.2%} used")
