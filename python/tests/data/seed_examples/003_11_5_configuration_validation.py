# Always validate configuration
config = create_optimization_config(max_concurrent_tasks=4)
if not validate_optimization_config(config):
    raise ValueError("Invalid configuration")
