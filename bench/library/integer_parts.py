#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What fp32 products by integer or 8-bit parts would cost and keep: a simulation, beside those by f16 parts and fp32 itself.

usage: integer_parts.py [--elements N] [--seed S]

Of lines of K numbers the elements of a product are computed from parts that tensor cores could multiply: as exact sums, so that the
errors are those of the parts alone. A row for each scheme: products of parts, their time in products of f16 parts where 8-bit ones
run at twice and at four times the rate of f16 with sums in fp32, and errors (root mean square) over those of fp32 sums in order.

- f16: two parts of 11 bits, each with an exponent, of lines whose largest number is a power of two at most (device/parts/).
- int8, S parts: numbers in fixed point below the largest of their line, S digits to the base 256; pairs of digits below the last
  one's weight are left out (Ozaki et al., doi 10.1007/s11075-011-9478-1; Ootomo, Ozaki and Yokota, arXiv 2306.11975).
- int8, residues: the same numbers modulo coprime numbers up to 256, as many as make the sum unique (arXiv 2504.08009).
- e4m3, S parts: of 4 bits, each with an exponent.

Needs Python's standard library.
"""
import argparse
import math
import random
import struct

MODULI = (256, 255, 253, 251, 247, 241, 239, 233, 229, 227, 223, 217)


def to_f32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def rounded(x, bits, least_exponent):
    """To so many significant bits, or to a multiple of 2^least_exponent."""
    if x == 0:
        return 0.0
    unit = max(math.frexp(x)[1] - bits, least_exponent)
    return math.ldexp(round(math.ldexp(x, -unit)), unit)


def parts_of(x, count, bits, least_exponent, step):
    """Floating parts: each rounds what those before leave, scaled by 2^step once more."""
    parts = []
    for i in range(count):
        part = math.ldexp(rounded(math.ldexp(x, i * step), bits, least_exponent), -i * step)
        parts.append(part)
        x -= part
    return parts


def digits_of(x, count):
    """Digits in [-128, 127] of x 2^(8 count - 1), |x| <= 1, the highest first, which may be 128."""
    whole, digits = round(math.ldexp(x, 8 * count - 1)), []
    for _ in range(count - 1):
        digit = (whole + 128) % 256 - 128
        digits.append(digit)
        whole = (whole - digit) // 256
    return [whole, *digits[::-1]]


def scaled(line, exponent):
    """The line times a power of two, so that its largest magnitude is below 2^exponent; and the power's exponent."""
    by = exponent - math.frexp(max(map(abs, line)))[1]
    return [math.ldexp(x, by) for x in line], by


def floating(count, bits, least_exponent, step, largest):
    def product(a, b):
        (a, by_a), (b, by_b) = scaled(a, largest), scaled(b, largest)
        terms = []
        for x, y in zip(a, b):
            of_x, of_y = (parts_of(v, count, bits, least_exponent, step) for v in (x, y))
            terms += [of_x[i] * of_y[j] for i in range(count) for j in range(count - i)]
        return math.ldexp(math.fsum(terms), -by_a - by_b)
    return product


def fixed(count):
    def product(a, b):
        (a, by_a), (b, by_b) = scaled(a, 0), scaled(b, 0)
        of_a, of_b = ([digits_of(x, count) for x in line] for line in (a, b))
        total = 0
        for x, y in zip(of_a, of_b):
            total += sum(x[i] * y[j] << 8 * (2 * count - 2 - i - j) for i in range(count) for j in range(count - i))
        return math.ldexp(total, -2 * (8 * count - 1) - by_a - by_b)
    return product


def residues(bits):
    def product(a, b):
        (a, by_a), (b, by_b) = scaled(a, 0), scaled(b, 0)
        total = sum(round(math.ldexp(x, bits)) * round(math.ldexp(y, bits)) for x, y in zip(a, b))
        return math.ldexp(total, -2 * bits - by_a - by_b)
    return product


def moduli_for(bits, k):
    needed, product = 1 + 2 * bits + math.ceil(math.log2(k)), 1
    for count, modulus in enumerate(MODULI, 1):
        product *= modulus
        if product >= 2 ** needed:
            return count
    raise ValueError("more moduli than there are")


def in_order(a, b):
    total = 0.0
    for x, y in zip(a, b):
        total = to_f32(total + x * y)
    return total


DATA = {
    "uniform": lambda: random.uniform(-1, 1),
    "normal": lambda: random.gauss(0, 1),
    "positive": random.random,
    "lognormal, sigma 4": lambda: random.choice((-1, 1)) * random.lognormvariate(0, 4),
}
SCHEMES = [("f16, 2 parts", floating(2, 11, -24, 11, 15), lambda k: 3, False),
           ("int8, 3 parts", fixed(3), lambda k: 6, True), ("int8, 4 parts", fixed(4), lambda k: 10, True),
           ("int8, residues of 23 bits", residues(23), lambda k: moduli_for(23, k), True),
           ("int8, residues of 31 bits", residues(31), lambda k: moduli_for(31, k), True),
           ("e4m3, 6 parts", floating(6, 4, -9, 4, 8), lambda k: 21, True)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--elements", metavar="N", type=int, default=64)
    parser.add_argument("--seed", metavar="S", type=int, default=1)
    asked = parser.parse_args()
    random.seed(asked.seed)
    print("| K | scheme | products | time at 2x | at 4x | " + " | ".join(DATA) + " |")
    print("|---" * (5 + len(DATA)) + "|")
    for k in (512, 4096):
        lines = {name: [tuple([to_f32(draw()) for _ in range(k)] for _ in "ab") for _ in range(asked.elements)]
                 for name, draw in DATA.items()}
        exact = {name: [math.fsum(x * y for x, y in zip(*pair)) for pair in pairs] for name, pairs in lines.items()}

        def error(product, name):
            return math.sqrt(sum((product(*pair) - right) ** 2 for pair, right in zip(lines[name], exact[name])))
        plain = {name: error(in_order, name) for name in DATA}
        for name, product, products, is_8_bits in SCHEMES:
            count = products(k)
            times = [count / rate if is_8_bits else count for rate in (2, 4)]
            print(f"| {k} | {name} | {count} | {times[0]:g} | {times[1]:g} | "
                  + " | ".join(f"{error(product, data) / plain[data]:.3f}" for data in DATA) + " |", flush=True)


if __name__ == "__main__":
    main()
