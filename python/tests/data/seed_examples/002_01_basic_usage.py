from inferix.profiling import InferixProfiler, ProfilingConfig

# Configure profiling
config = ProfilingConfig(
    enabled=True,
    real_time_display=True,
    generate_final_report=True
)

# Create profiler
profiler = InferixProfiler(config)

# Profile your video generation
with profiler.session("my_video_generation") as session_id:
    
    with profiler.stage("text_encoding"):
        # Your text encoding code
        pass
    
    with profiler.stage("video_generation"):
        # Your video generation code
        pass
    
    with profiler.stage("vae_decode"):
        # Your VAE decoding code
        pass

# Reports are automatically generated when the session ends
