"""Admission, batches and retries around a model that is a stand-in here."""
from genscope import optimize


def generate(prompts):
    return [f"image of {prompt}" for prompt in prompts]


# [snippet service]
admission = optimize.Admission(concurrency=1, classes={"interactive": 32, "bulk": 256})
batcher = optimize.Batcher(generate, most=8, max_delay=0.02, slo=5.0)


def handle(prompt):
    try:
        with admission.enter("interactive", timeout=5.0):  # `async with` in a coroutine
            return 200, batcher(prompt, key="1024x1024")   # `await batcher.asubmit(...)`
    except optimize.Rejected as refused:
        return 503, f"Retry-After: {refused.retry_after or 1:.0f}"
# [/snippet]


# [snippet retry]
upscaler = optimize.Breaker(name="upscaler")


@optimize.retry(attempts=3, timeout=10)
@upscaler
def upscale(image):
    return "large " + image
# [/snippet]


print(upscale(handle("a cat")[1]))
batcher.close()
admission.drain()
print(handle("a dog"))
