#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training steps of GPT-2 small with random weights: 8 sequences of 512 tokens, AdamW. Prints a line of JSON (program.py).

Hugging Face's model; where transformers is not installed, PyTorch modules with the same products, and the line says so.
"""
import importlib.util

import program


def plain_gpt2(torch, width, layers, heads, vocabulary, positions):
    """The products of Hugging Face's: weights of Conv1D are (inputs, outputs), the head's are the embedding's."""
    functional = torch.nn.functional

    class Conv1D(torch.nn.Module):
        def __init__(self, inputs, outputs):
            super().__init__()
            self.weight = torch.nn.Parameter(0.02 * torch.randn(inputs, outputs))
            self.bias = torch.nn.Parameter(torch.zeros(outputs))

        def forward(self, x):
            return torch.addmm(self.bias, x.view(-1, x.shape[-1]), self.weight).view(*x.shape[:-1], -1)

    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm_1, self.norm_2 = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
            self.qkv, self.out = Conv1D(width, 3 * width), Conv1D(width, width)
            self.up, self.down = Conv1D(width, 4 * width), Conv1D(4 * width, width)

        def forward(self, x):
            q, k, v = (part.view(*part.shape[:2], heads, -1).transpose(1, 2)
                       for part in self.qkv(self.norm_1(x)).split(width, dim=2))
            attended = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(attended.transpose(1, 2).reshape(x.shape))
            return x + self.down(functional.gelu(self.up(self.norm_2(x)), approximate="tanh"))

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.places = torch.nn.Embedding(vocabulary, width), torch.nn.Embedding(positions, width)
            torch.nn.init.normal_(self.tokens.weight, std=0.02)
            self.blocks, self.norm = torch.nn.Sequential(*(Block() for _ in range(layers))), torch.nn.LayerNorm(width)

        def forward(self, tokens):
            places = self.places(torch.arange(tokens.shape[1], device=tokens.device))
            return self.norm(self.blocks(self.tokens(tokens) + places)) @ self.tokens.weight.t()

    return Model()


def model_of(torch, sizes):
    """(the model, a function from it and tokens to logits, text about the library, a note)"""
    if importlib.util.find_spec("transformers") is None:
        model = plain_gpt2(torch, sizes["n_embd"], sizes["n_layer"], sizes["n_head"], sizes["vocab_size"], sizes["n_positions"])
        return model, lambda tokens: model(tokens), "", "transformers is not installed: the same products in plain PyTorch"
    import transformers
    no_dropout = {name: 0.0 for name in ("resid_pdrop", "embd_pdrop", "attn_pdrop")}
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(use_cache=False, **sizes, **no_dropout))
    return model, lambda tokens: model(tokens).logits, f", transformers {transformers.__version__}", None


def main():
    asked = program.options(__doc__)
    torch, wait, gpu, dtype = program.torch_of(asked)
    sizes = {"n_embd": 64, "n_layer": 2, "n_head": 2, "vocab_size": 257, "n_positions": 32} if asked.tiny else {
        "n_embd": 768, "n_layer": 12, "n_head": 12, "vocab_size": 50257, "n_positions": 1024}
    model, logits_of, version, note = model_of(torch, sizes)
    model.to(asked.device, dtype)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    tokens = torch.randint(sizes["vocab_size"], (2, 32) if asked.tiny else (8, 512)).to(asked.device)

    def step():
        optimizer.zero_grad(set_to_none=True)
        logits = logits_of(tokens)[:, :-1].float()
        loss = torch.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), tokens[:, 1:].reshape(-1))
        loss.backward()
        optimizer.step()
        return loss.detach()

    losses, ms = program.times_of(step, wait, asked.steps)
    program.tell("gpt2", asked, f"PyTorch {torch.__version__}{version}", gpu, {"step": ms}, losses, note)


if __name__ == "__main__":
    main()
