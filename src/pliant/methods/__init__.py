"""Inference methods."""
