"""A reproducible companion to "Batch Normalization Amplifies Memorization and Privacy Risks"."""

__version__ = "0.1.0"
