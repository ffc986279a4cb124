# Run comprehensive end-to-end test
test_prompts = [
    "A serene mountain landscape",
    "A futuristic city scene",
    "An abstract geometric pattern"
]

e2e_result = validator.run_end_to_end_performance_test(
    generator_function=optimized_generator,
    test_prompts=test_prompts,
    model_name="Optimized-MMDiT"
)

print(f"Success Rate: {e2e_result.success_rate:.1f}%")
print(f"Average Time: {e2e_result.total_time:.3f}s")
