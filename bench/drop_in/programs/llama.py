#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prefill and decode of a model of Llama's shape with random weights: the widths of Llama 3 8B, 4 layers, plain PyTorch.

Prefill: one sequence of 2048 tokens. Decode: a token each for 8 sequences of 1024, also in a CUDA graph, where the host
does not count. Prints a line of JSON (program.py); its digest is of logits of both.
"""
import program


class Llama:
    def __init__(self, torch, device, dtype, sizes):
        self.torch, self.sizes = torch, sizes
        self.width, self.heads, self.groups, hidden, layers, vocabulary = sizes
        self.head = self.width // self.heads

        def weight(outputs, inputs):
            return torch.randn(outputs, inputs, device=device, dtype=dtype) * inputs ** -0.5

        self.embedding, self.out = weight(vocabulary, self.width), weight(vocabulary, self.width)
        narrow = self.groups * self.head
        self.layers = [{"qkv": weight(self.width + 2 * narrow, self.width), "o": weight(self.width, self.width),
                        "gate": weight(hidden, self.width), "up": weight(hidden, self.width),
                        "down": weight(self.width, hidden)} for _ in range(layers)]
        self.norm = torch.ones(self.width, device=device, dtype=dtype)

    def rotated(self, x, first):
        """Rotary positions, from the first on; x is (sequences, heads, tokens, head)."""
        torch, half = self.torch, self.head // 2
        speeds = 10000.0 ** (-torch.arange(half, device=x.device) / half)
        angles = torch.arange(first, first + x.shape[2], device=x.device)[:, None] * speeds
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        a, b = x[..., :half], x[..., half:]
        return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)

    def logits(self, tokens, caches=None):
        """Of the last token of each sequence; tokens is (sequences, tokens). caches: keys and values before them, a layer."""
        functional = self.torch.nn.functional
        batch, length = tokens.shape
        x = functional.embedding(tokens, self.embedding)
        first = caches[0][0].shape[2] if caches else 0
        for number, layer in enumerate(self.layers):
            narrow = self.groups * self.head
            qkv = functional.linear(functional.rms_norm(x, (self.width,), self.norm), layer["qkv"])
            q, k, v = (part.view(batch, length, -1, self.head).transpose(1, 2)
                       for part in qkv.split([self.width, narrow, narrow], dim=2))
            q, k = self.rotated(q, first), self.rotated(k, first)
            if caches:
                k, v = (self.torch.cat([old, new], dim=2) for old, new in zip(caches[number], (k, v)))
            attended = functional.scaled_dot_product_attention(q, k, v, is_causal=not caches, enable_gqa=True)
            x = x + functional.linear(attended.transpose(1, 2).reshape(batch, length, -1), layer["o"])
            y = functional.rms_norm(x, (self.width,), self.norm)
            x = x + functional.linear(functional.silu(functional.linear(y, layer["gate"])) * functional.linear(y, layer["up"]),
                                      layer["down"])
        return functional.linear(functional.rms_norm(x[:, -1], (self.width,), self.norm), self.out)

    def caches(self, batch, length, like):
        shape = (batch, self.groups, length, self.head)
        return [tuple(self.torch.randn(shape, device=like.device, dtype=like.dtype) for _ in range(2)) for _ in self.layers]


def main():
    asked = program.options(__doc__, dtypes=("bf16", "fp32"))
    torch, wait, gpu, dtype = program.torch_of(asked)
    # width, heads, heads of keys and values, width of the MLP, layers, vocabulary
    sizes = (64, 4, 2, 160, 2, 300) if asked.tiny else (4096, 32, 8, 14336, 4, 128256)
    length, batch, past = (32, 2, 16) if asked.tiny else (2048, 8, 1024)
    with torch.no_grad():
        model = Llama(torch, asked.device, dtype, sizes)
        prompt = torch.randint(sizes[-1], (1, length), device=asked.device)
        next_tokens = torch.randint(sizes[-1], (batch, 1), device=asked.device)
        caches = model.caches(batch, past, model.norm)
        ms, digest = {}, []
        works = {"prefill": lambda: model.logits(prompt), "decode": lambda: model.logits(next_tokens, caches)}
        for name, work in works.items():
            results, ms[name] = program.times_of(work, wait, asked.steps)
            digest += results[-1].float()[:, ::sizes[-1] // 32].flatten().tolist()
        if asked.device == "cuda":
            _, ms["decode in a CUDA graph"] = program.times_of(program.graphed(torch, works["decode"]), wait, asked.steps)
    program.tell("llama", asked, f"PyTorch {torch.__version__}", gpu, ms, digest)


if __name__ == "__main__":
    main()
