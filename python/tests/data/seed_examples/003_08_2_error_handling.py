# Use retry mechanism for transient failures
result = await retry_operation(
    optimizer.optimize_text_processing,
    max_retries=3,
    delay=1.0,
    text="Your text here"
)
