"""A toy text-to-image program in plain Python: real arithmetic, no model to download.

    genscope run -- python gen.py
    genscope run -- python gen.py --decoder separable     # the same picture, with less work
"""
import argparse
import math
import random

import genscope as gs

SIZE = 64  # of the latent, which the decoder doubles
BLUR = [math.exp(-(k * k) / 8) for k in range(-4, 5)]


def load(seed):
    rng = random.Random(seed)
    return [[rng.gauss(0, 1 / SIZE) for _ in range(SIZE)] for _ in range(SIZE)]


def encode(prompt):
    return [math.sin(ord(letter)) for letter in prompt]


def denoise(latent, weights, text, step):
    columns = list(zip(*latent))
    shift = text[step % len(text)] * 0.1
    return [[math.tanh(sum(a * b for a, b in zip(row, column)) + shift) for column in columns]
            for row in weights]


def blur_2d(image):
    """Each pixel from the 81 around it."""
    size = len(image)
    return [[sum(BLUR[j] * BLUR[i] * image[(y + j - 4) % size][(x + i - 4) % size]
                 for j in range(9) for i in range(9)) for x in range(size)] for y in range(size)]


def blur_rows(image):
    size = len(image)
    return [[sum(BLUR[i] * row[(x + i - 4) % size] for i in range(9)) for x in range(size)]
            for row in image]


def blur_separable(image):
    """The same sums: along rows, then along columns, 18 pixels instead of 81."""
    turned = [list(column) for column in zip(*blur_rows(image))]
    return [list(column) for column in zip(*blur_rows(turned))]


def decode(latent, blur):
    image = [[latent[y // 2][x // 2] for x in range(2 * SIZE)] for y in range(2 * SIZE)]
    for _ in range(6):
        image = blur(image)
        top = max(max(map(abs, row)) for row in image)
        image = [[value / top for value in row] for row in image]
    return image


parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--steps", type=int, default=12)
parser.add_argument("--decoder", choices=("2d", "separable"), default="2d")
parser.add_argument("--out", default="picture.pgm")
options = parser.parse_args()

with gs.session("gen"):
    gs.configure(steps=options.steps, width=2 * SIZE, height=2 * SIZE)
    with gs.loading("load_model"):
        weights, latent = load(1), load(2)
    with gs.stage("text_encoding"):
        text = encode("a lighthouse at dawn")
    with gs.stage("denoising"):
        for i in gs.steps(range(options.steps)):
            for _ in range(6):
                latent = denoise(latent, weights, text, i)
    with gs.stage("vae_decode", decoder=options.decoder):
        image = decode(latent, blur_2d if options.decoder == "2d" else blur_separable)
    with gs.stage("write_image"), open(options.out, "wb") as file:
        file.write(b"P5 %d %d 255\n" % (2 * SIZE, 2 * SIZE))
        file.write(bytes(int(127.5 + 127 * value) for row in image for value in row))
