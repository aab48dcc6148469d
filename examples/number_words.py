"""A transformer with beam search that translates numbers into English words: `342` into `three hundred forty two`.

Training is one program over padded batches from a generator, with a learning rate schedule that branches. The beam
search is a `while` loop for one number, which `jax.vmap` batches; each lane has its own trip count.
`pip install optax`, then `python examples/number_words.py` prints a table of numbers and words.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax

import autograph as ag

ONES = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
WORDS = ["<pad>", "<start>", "<end>", *ONES.split(), *TENS.split(), "hundred"]
PAD, START, END = range(3)
DIGITS, LONGEST, BEAMS = 3, 5, 4  # of a number, of its words with the last one, and the translations that are kept
WIDTH, HEADS = 48, 4
SHOWN = (342, 118, 205, 660, 999)


def spelled(number):
    """The words of a number below 1000."""
    ones, tens = WORDS[3:23], WORDS[23:31]
    if number < 20:
        return [ones[number]]
    if number < 100:
        return [tens[number // 10 - 2], *(spelled(number % 10) if number % 10 else [])]
    return [ones[number // 100], "hundred", *(spelled(number % 100) if number % 100 else [])]


def pairs(numbers):
    """A generator of digits, numbered from 1 on, and of the numbers of words: both of differing lengths."""

    def make():
        for number in numbers:
            words = [WORDS.index(word) for word in spelled(number)]
            yield [int(digit) + 1 for digit in str(number)], [START, *words, END]

    spec = ag.TensorSpec([None], jnp.int32)
    return ag.Dataset.from_generator(make, (spec, spec), length=len(numbers))


def matrix(key, rows, columns):
    return ag.Variable(jax.random.normal(key, (rows, columns)) * rows**-0.5)


def normalized(x):
    return (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)


def positions(length):
    angles = jnp.arange(length)[:, None] / 1000.0 ** (jnp.arange(0, WIDTH, 2) / WIDTH)
    return jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], axis=1)


class Attention(ag.Module):
    def __init__(self, key):
        self.query, self.key, self.value, self.out = (matrix(k, WIDTH, WIDTH) for k in jax.random.split(key, 4))

    def __call__(self, x, memory, mask):
        query, key, value = (
            (y @ w).reshape(len(y), HEADS, -1) for y, w in ((x, self.query), (memory, self.key), (memory, self.value))
        )
        scores = jnp.einsum("qhd,khd->hqk", query, key) * (WIDTH // HEADS) ** -0.5
        weights = jax.nn.softmax(jnp.where(mask, scores, -1e9))
        return jnp.einsum("hqk,khd->qhd", weights, value).reshape(len(x), WIDTH) @ self.out


class Block(ag.Module):
    """Attention to its own sequence, to another one if there is one, and two dense layers."""

    def __init__(self, key, has_memory):
        keys = jax.random.split(key, 4)
        self.own = Attention(keys[0])
        self.other = Attention(keys[1]) if has_memory else None
        self.wide, self.narrow = matrix(keys[2], WIDTH, 2 * WIDTH), matrix(keys[3], 2 * WIDTH, WIDTH)

    def __call__(self, x, mask, memory=None, memory_mask=None):
        y = normalized(x)
        x = x + self.own(y, y, mask)
        if self.other is not None:
            x = x + self.other(normalized(x), memory, memory_mask)
        return x + jax.nn.relu(normalized(x) @ self.wide) @ self.narrow


def rate(step):
    """A warm-up, then as the inverse square root."""
    if step < 100:
        return 4e-3 * step / 100
    return 4e-3 * (100 / step) ** 0.5


class Translator(ag.Module):
    """An encoder and a decoder. Methods are for one sequence; padding is masked out."""

    def __init__(self, seed, blocks):
        keys = jax.random.split(jax.random.key(seed), 2 * blocks + 3)
        self.digits, self.words = matrix(keys[0], 11, WIDTH), matrix(keys[1], len(WORDS), WIDTH)
        self.out = matrix(keys[2], WIDTH, len(WORDS))
        self.encoder = [Block(key, False) for key in keys[3 : 3 + blocks]]
        self.decoder = [Block(key, True) for key in keys[3 + blocks :]]
        self.optimizer = ag.optim.from_optax(
            optax.chain(optax.clip_by_global_norm(1.0), optax.adam(rate, b2=0.98)), name="adam"
        )

    def encode(self, digits):
        x = self.digits[digits] * WIDTH**0.5 + positions(len(digits))
        for block in self.encoder:
            x = block(x, digits != PAD)
        return normalized(x)

    def decode(self, words, memory, digits):
        """For each word, how likely which word follows."""
        x = self.words[words] * WIDTH**0.5 + positions(len(words))
        for block in self.decoder:
            x = block(x, jnp.tri(len(words), dtype=bool), memory, digits != PAD)
        return jax.nn.log_softmax(normalized(x) @ self.out)

    def loss(self, digits, words):
        def one(digits, words):
            found = self.decode(words[:-1], self.encode(digits), digits)
            wanted = optax.smooth_labels(jax.nn.one_hot(words[1:], len(WORDS)), 0.05)
            return jnp.where(words[1:] != PAD, -(found * wanted).sum(-1), 0.0).sum()

        return jax.vmap(one)(digits, words).sum() / (words[:, 1:] != PAD).sum()

    @ag.function
    def train(self, data, epochs):
        """The mean losses of the first epoch and of the last."""
        first, mean = 0.0, 0.0
        for epoch in ag.range(epochs):
            total, steps = 0.0, 0
            for digits, words in data:
                total += self.optimizer.minimize(lambda: self.loss(digits, words), self.trainable_variables)  # noqa: B023
                steps += 1
            mean = total / steps
            if epoch == 0:
                first = mean
        return first, mean

    def translate(self, digits):
        """The likeliest words by a beam search, and how many steps it took."""
        memory = self.encode(digits)
        words = jnp.full((BEAMS, LONGEST + 1), PAD).at[:, 0].set(START)
        scores = jnp.full(BEAMS, -1e9).at[0].set(0.0)
        only_padding = jnp.where(jnp.arange(len(WORDS)) == PAD, 0.0, -1e9)
        length = 1
        while length <= LONGEST:
            has_ended = (words == END).any(1)
            if has_ended.all():
                break
            following = jax.vmap(lambda beam: self.decode(beam, memory, digits)[length - 1])(words)  # noqa: B023
            following = jnp.where(has_ended[:, None], only_padding, following)
            scores, found = jax.lax.top_k((scores[:, None] + following).reshape(-1), BEAMS)
            words = words[found // len(WORDS)]
            words[:, length] = found % len(WORDS)
            length += 1
        best = (scores / (words != PAD).sum(1) ** 0.6).argmax()
        return words[best], length - 1

    @ag.function
    def evaluate(self, data):
        """Which part of the translations are right, and the mean number of steps."""
        right, steps, count = 0, 0, 0
        for digits, words in data:
            found, taken = jax.vmap(self.translate)(digits)
            right += (found == words[:, : LONGEST + 1]).all(1).sum()
            steps += taken.sum()
            count += len(digits)
        return right / count, steps / count


def main(epochs: int = 60, blocks: int = 2) -> dict[str, float]:
    numbers = np.random.default_rng(0).permutation(1000).tolist()
    shapes = ([DIGITS], [LONGEST + 1])
    known = pairs(numbers[:800]).shuffle(800, seed=0).padded_batch(50, shapes)
    unknown = pairs(numbers[800:]).padded_batch(50, shapes)
    model = Translator(seed=0, blocks=blocks)
    first, last = model.train(known, jnp.array(epochs))
    accuracy, steps = model.evaluate(unknown)
    translate = ag.function(model.translate)
    print("number  words")
    for number in SHOWN:
        words, _ = translate(jnp.array([int(digit) for digit in f"{number:03}"]) + 1)
        print(f"{number:6}  {' '.join(WORDS[k] for k in words.tolist() if k > END)}")
    return {
        "first loss": float(first),
        "last loss": float(last),
        "right": float(accuracy),
        "steps of the search": float(steps),
        "updates": int(model.optimizer.iterations),
    }


if __name__ == "__main__":
    found = main()
    print(f"correct: {found['right']:.0%} of the 200 numbers that were not used for training")
