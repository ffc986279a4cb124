# Run comprehensive regression test suite
suite = BenchmarkSuite(
    name="Production Regression Suite",
    target_improvement_factor=50.0,
    test_resolutions=[(512, 512), (1024, 1024), (1280, 1280)],
    test_step_counts=[10, 20, 30],
    include_multimodal_tests=True
)

results = validator.run_regression_test_suite(
    generator_function=production_generator,
    benchmark_suite=suite
)

print(f"Pass Rate: {results['summary']['pass_rate']:.1f}%")
print(f"Status: {results['summary']['overall_status']}")
