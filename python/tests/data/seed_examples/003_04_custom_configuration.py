async def custom_config_example():
    # Custom configuration for specific use case
    config = OptimizationConfig(
        # GPU settings
        use_gpu=True,
        gpu_ids=[0, 1],  # Use multiple GPUs
        mixed_precision=True,
        gradient_accumulation_steps=8,
        
        # Memory optimization
        max_memory_usage=0.9,
        enable_gradient_checkpointing=True,
        enable_attention_slicing=True,
        
        # Caching
        cache_enabled=True,
        cache_size=2000,
        cache_ttl=7200,  # 2 hours
        
        # Profiling
        enable_profiling=True,
        profile_memory=True,
        profile_cpu=True,
        
        # Experiment tracking
        enable_wandb=True,
        enable_tensorboard=True,
        experiment_name="custom_optimization_experiment",
        
        # Async settings
        max_concurrent_tasks=8,
        task_timeout=600.0,  # 10 minutes
        
        # Model settings
        model_name="stabilityai/stable-diffusion-xl-base-1.0",
        tokenizer_name="openai/clip-vit-large-patch14"
    )
    
    return await create_performance_optimizer(config)
