# Create optimizer and monitor
optimizer = PipelineOptimizer(config)
monitor = PerformanceMonitor(target_generation_time=5.0)

# Monitor optimized generation
with monitor.monitor_generation(model_name="Qwen-Image", architecture_type="MMDiT"):
    # Use optimizer settings
    gen_settings = optimizer.configure_generation_settings("MMDiT")
    # Generate with monitoring
    result = pipeline(**gen_settings)
