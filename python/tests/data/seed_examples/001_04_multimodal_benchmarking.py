# Test multimodal performance
multimodal_result = validator.run_multimodal_performance_benchmark(
    qwen2vl_function=qwen2vl_processor,
    text_prompts=text_prompts,
    image_paths=image_paths
)

print(f"Text Processing: {multimodal_result.text_processing_time:.3f}s")
print(f"Image Analysis: {multimodal_result.image_analysis_time:.3f}s")
