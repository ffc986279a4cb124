# Quick MMDiT monitor creation
monitor = create_mmdit_performance_monitor(target_time=5.0)

# Convenience context manager
with monitor_generation_performance(model_name="Qwen-Image", target_time=5.0):
    # Generation code
    pass
