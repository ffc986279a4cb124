from inferix.profiling.config import ProfilingConfig

config = ProfilingConfig(
    enabled=True,
    gpu_monitor_interval=0.5,
    cpu_monitor_interval=1.0,
    real_time_display=True,
    generate_final_report=True,
    report_format="both",
    output_dir="./profiling_reports",
    session_tags={"experiment": "optimization_v1"}
)
