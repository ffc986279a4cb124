# Always use try/finally for cleanup
optimizer = await create_performance_optimizer(config)
try:
    # Your operations here
    pass
finally:
    await optimizer.cleanup()
