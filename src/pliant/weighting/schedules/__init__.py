"""Rules for the bandwidth of each round."""
