from utils.performance_validator import create_performance_validator

# Create validator with targets
validator = create_performance_validator(
    target_improvement=50.0,  # 50x improvement
    target_time=5.0          # 5 second target
)

# Run speed improvement validation
results = validator.run_speed_improvement_validation(
    before_function=slow_generator,
    after_function=fast_generator,
    test_prompt="A beautiful landscape"
)

print(f"Improvement: {results['improvement_factor']:.1f}x faster")
print(f"Status: {results['validation_status']}")
