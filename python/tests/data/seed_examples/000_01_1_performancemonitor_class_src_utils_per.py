# Context manager for complete generation monitoring
with monitor.monitor_generation(model_name="Qwen-Image", architecture_type="MMDiT"):
    # Generation code here
    pass

# Individual timing methods
monitor.start_timing()
monitor.end_timing()
monitor.start_step_timing()
monitor.end_step_timing()

# Performance validation
monitor.validate_performance_target(generation_time)
monitor.get_performance_summary()
monitor.get_before_after_comparison(previous_metrics)
