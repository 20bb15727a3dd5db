"""The paper's figures, one file each: from the evidence of a grid to a matplotlib figure."""
