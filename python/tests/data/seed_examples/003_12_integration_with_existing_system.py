# In your main.py or workflow
from .optimization.performance_optimizer import create_performance_optimizer

class AIVideoSystem:
    async def initialize(self):
        # Initialize performance optimizer
        self.performance_optimizer = await create_performance_optimizer()
    
    async def generate_video(self, request: VideoRequest) -> VideoResponse:
        # Use optimizer for enhanced performance
        optimized_prompt = await self.performance_optimizer.optimize_text_processing(
            request.prompt
        )
        
        video_data = await self.performance_optimizer.optimize_video_generation(
            optimized_prompt,
            num_inference_steps=request.num_steps
        )
        
        return VideoResponse(video_data=video_data)
