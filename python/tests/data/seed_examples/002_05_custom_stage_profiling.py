# Profile specific operations
with profiler.stage("custom_operation", metadata={"batch_size": 32}):
    result = custom_function()

# Profile functions with decorator
@profiler.profile_function("my_function")
def my_function():
    # Your code here
    pass
