#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training steps of an MLP of 1024, 2048, 1024 and 64 features at a batch of 2048, by SGD. Prints a line of JSON (program.py).

The step is also timed as a CUDA graph: with it the GPU's time alone, without it the host's as well.
"""
import program


def main():
    asked = program.options(__doc__)
    torch, wait, gpu, dtype = program.torch_of(asked)
    width, batch = (32, 64) if asked.tiny else (1024, 2048)
    layers = [torch.nn.Linear(width, 2 * width), torch.nn.ReLU(), torch.nn.Linear(2 * width, width), torch.nn.ReLU(),
              torch.nn.Linear(width, 64)]
    model = torch.nn.Sequential(*layers).to(asked.device, dtype)
    x, y = (torch.randn(batch, features).to(asked.device, dtype) for features in (width, 64))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.mse_loss(model(x).float(), y.float())
        loss.backward()
        optimizer.step()
        return loss.detach()

    losses, ms = program.times_of(step, wait, 2 * asked.steps)
    times = {"step": ms}
    if asked.device == "cuda":
        _, times["step in a CUDA graph"] = program.times_of(program.graphed(torch, step), wait, 2 * asked.steps)
    program.tell("mlp_step", asked, f"PyTorch {torch.__version__}", gpu, times, losses)


if __name__ == "__main__":
    main()
