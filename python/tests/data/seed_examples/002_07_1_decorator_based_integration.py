from inferix.profiling.decorators import profile_method, profile_session

class VideoPipeline:
    @profile_session("video_generation", {"mode": "t2v"})
    def run_text_to_video(self, prompts):
        # Generation logic
        pass
    
    @profile_method("model_initialization")
    def _initialize_model(self):
        # Initialization logic
        pass
