from utils.performance_monitor import monitor_generation_performance
from pipeline_optimizer import PipelineOptimizer

optimizer = PipelineOptimizer()

with monitor_generation_performance(
    model_name="Qwen-Image",
    target_time=5.0,
    architecture_type="MMDiT"
) as monitor:
    # Use optimizer settings
    settings = optimizer.configure_generation_settings("MMDiT")
    # Generate with monitoring
    result = pipeline(**settings)

# Automatic performance validation and reporting
