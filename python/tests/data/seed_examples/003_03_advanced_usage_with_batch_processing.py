async def batch_optimization_example():
    config = OptimizationConfig(
        max_concurrent_tasks=4,
        enable_profiling=True,
        enable_wandb=True
    )
    
    optimizer = await create_performance_optimizer(config)
    
    try:
        # Batch tasks
        tasks = [
            {"type": "text", "text": "Process text 1"},
            {"type": "text", "text": "Process text 2"},
            {"type": "video", "prompt": "Video 1", "kwargs": {"num_inference_steps": 15}},
            {"type": "video", "prompt": "Video 2", "kwargs": {"num_inference_steps": 20}}
        ]
        
        # Run batch optimization
        results = await optimizer.run_batch_optimization(tasks)
        
        for i, result in enumerate(results):
            print(f"Task {i} result: {type(result)}")
            
    finally:
        await optimizer.cleanup()
