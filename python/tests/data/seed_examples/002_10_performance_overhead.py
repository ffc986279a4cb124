# Use production configuration
config.real_time_display = False
config.monitor_gpu_temperature = False
config.monitor_gpu_power = False
config.profile_text_encoding = False
