# Enable profiling for performance analysis
config = OptimizationConfig(enable_profiling=True)
optimizer = await create_performance_optimizer(config)

# Get detailed stats
stats = await optimizer.get_optimization_stats()
print(f"Cache hit rate: {stats['cache_hits'] / (stats['cache_hits'] + stats['cache_misses']):.2%}")
