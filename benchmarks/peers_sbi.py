"""The part of ``benchmarks/peers.py`` that runs in sbi's own environment.

``python benchmarks/peers_sbi.py FOLDER METHOD`` reads ``FOLDER/data.npz``, trains sbi's NPE or NLE
on it, and writes ``FOLDER/METHOD.npz`` with posterior samples and the seconds that they took.
"""

import sys
import time
from pathlib import Path

import numpy as np
import torch
from sbi.inference import NLE, NPE
from sbi.utils import MultipleIndependent

N_SAMPLES = 1000


def prior(data):
    """Standard normals: parameters are exchanged in coordinates in which the prior is that."""
    one = torch.distributions.Normal(torch.zeros(1), torch.ones(1))
    return MultipleIndependent([one] * data["theta_sets"].shape[1])


def npe(data):
    """The posterior given all N observations side by side, trained on sets of N."""
    theta = torch.as_tensor(data["theta_sets"])
    x = torch.as_tensor(data["x_sets"]).flatten(1)
    trainer = NPE(prior(data))
    trainer.append_simulations(theta, x).train()
    posterior = trainer.build_posterior()
    return posterior.sample((N_SAMPLES,), x=torch.as_tensor(data["observed"]).flatten()[None])


def nle(data):
    """The likelihood of one observation, then MCMC with all N."""
    theta = torch.as_tensor(data["theta_draws"])
    x = torch.as_tensor(data["x_draws"])
    trainer = NLE(prior(data))
    trainer.append_simulations(theta, x).train()
    posterior = trainer.build_posterior(
        mcmc_method="slice_np_vectorized",
        mcmc_parameters={"num_chains": 20, "warmup_steps": 100, "thin": 2},
    )
    return posterior.sample((N_SAMPLES,), x=torch.as_tensor(data["observed"]))


def main():
    folder, name = Path(sys.argv[1]), sys.argv[2]
    torch.manual_seed(0)
    data = np.load(folder / "data.npz")
    start = time.monotonic()
    samples = {"npe": npe, "nle": nle}[name](data)
    np.savez(folder / f"{name}.npz", u=np.asarray(samples), seconds=time.monotonic() - start)


if __name__ == "__main__":
    main()
