# In pipeline's inference method
for block_index in range(num_blocks):
    # Record diffusion steps with external profiler
    if self.profiler is not None and hasattr(self.profiler, 'record_diffusion_step'):
        self.profiler.record_diffusion_step(
            step=index,
            timestep=current_timestep.item() / 1000.0,
            block_size=current_num_frames,
            computation_time_ms=diffusion_time_ms,
            guidance_scale=getattr(self.args, 'guidance_scale', None)
        )
    
    # Record block computation with external profiler
    if self.profiler is not None and hasattr(self.profiler, 'record_block_computation'):
        self.profiler.record_block_computation(
            block_index=block_index,
            block_size=current_num_frames,
            computation_time_ms=block_time,
            memory_usage_mb=memory_used_mb
        )
