import logging
logging.basicConfig(level=logging.DEBUG)

config = OptimizationConfig(enable_profiling=True)
optimizer = await create_performance_optimizer(config)
