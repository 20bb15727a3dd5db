"""Pictures of posteriors and of runs, as matplotlib figures without windows."""
