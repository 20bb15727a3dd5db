"""A program that does not depend on Pliant: the queue in a bakery on one morning.

    python bakery_model.py --arrivals 0.8 --service 1.0 --seed 1

prints as CSV the mean wait in minutes of the first, second, third and fourth 25 customers.
"""

import argparse
import random
import sys

CUSTOMERS, GROUPS = 100, 4


def main() -> None:
    """Read the options, simulate the queue, print the waits."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--arrivals", type=float, required=True, help="customers per minute")
    parser.add_argument("--service", type=float, required=True, help="customers served per minute")
    parser.add_argument("--seed", type=int, required=True)
    options = parser.parse_args()
    if options.arrivals > 3 * options.service:
        sys.exit("expected arrivals of at most three times service")
    rng = random.Random(options.seed)
    arrival = free = 0.0
    waits = []
    for _ in range(CUSTOMERS):
        arrival += rng.expovariate(options.arrivals)
        start = max(arrival, free)
        waits.append(start - arrival)
        free = start + rng.expovariate(options.service)
    size = CUSTOMERS // GROUPS
    print(",".join(f"{sum(waits[i : i + size]) / size:.6f}" for i in range(0, CUSTOMERS, size)))


if __name__ == "__main__":
    main()
