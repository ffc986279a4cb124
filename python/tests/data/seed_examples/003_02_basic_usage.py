import asyncio
from performance_optimizer import (
    create_performance_optimizer,
    OptimizationConfig
)

async def main():
    # Create configuration
    config = OptimizationConfig(
        use_gpu=True,
        mixed_precision=True,
        cache_enabled=True,
        enable_profiling=True
    )
    
    # Create optimizer
    optimizer = await create_performance_optimizer(config)
    
    try:
        # Optimize text processing
        text = "Generate a beautiful landscape video"
        processed_text = await optimizer.optimize_text_processing(text)
        
        # Optimize video generation
        video_data = await optimizer.optimize_video_generation(
            "A serene mountain landscape",
            num_inference_steps=20
        )
        
        # Get optimization stats
        stats = await optimizer.get_optimization_stats()
        print(f"Optimization stats: {stats}")
        
    finally:
        await optimizer.cleanup()

# Run
asyncio.run(main())
