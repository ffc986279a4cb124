from inferix.utils.profiling_integration import ProfilingIntegration

# Easy integration with minimal code changes
profiling = ProfilingIntegration(config)

# Profile your entire pipeline
with profiling.session(prompt="A cat playing in the garden"):
    
    # Wrap existing functions/stages
    with profiling.stage("inference"):
        result = your_existing_function()
    
    # Add custom events
    profiling.add_event("milestone_reached", {"progress": 0.5})

# Get real-time metrics
metrics = profiling.get_current_metrics()
print(f"GPU Memory: {metrics['gpu']['memory_used_mb']}MB")
