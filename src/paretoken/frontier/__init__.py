"""What is not dominated, with uncertainty. Sees numbers only, never an engine or a model."""
