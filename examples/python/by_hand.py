"""A pipeline that marks its own stages and steps. Run it alone, or under `genscope run`."""
import math

# [snippet main]
import genscope as gs


@gs.profile(name="text_encoding", kind="stage")
def encode(prompt):
    return [ord(letter) / 128 for letter in prompt]


def denoise(latent, step):
    return [math.tanh(value * (1 - 0.01 * step)) for value in latent]


with gs.session("by-hand", tags={"model": "toy"}) as session:
    gs.configure(steps=20, dtype="fp32")         # what the advice should know
    latent = encode("a lighthouse at dawn" * 200)
    with gs.stage("denoise"):
        for i in gs.steps(range(20)):            # each turn of the loop is a step
            latent = denoise(latent, i)
            gs.counter("latent_mean", sum(latent) / len(latent))
    with gs.stage("vae_decode", tiles=4):
        image = bytes(int(255 * abs(value)) for value in latent)
    gs.event("done", bytes=len(image))
    print(session.run_dir)
# [/snippet]
