# Monitor GPU utilization during generation
gpu_result = validator.run_gpu_utilization_benchmark(
    generator_function=gpu_intensive_generator,
    duration_seconds=30.0
)

print(f"GPU Utilization: {gpu_result.gpu_utilization_percent:.1f}%")
print(f"Memory Efficiency: {gpu_result.gpu_memory_efficiency:.1f}%")
