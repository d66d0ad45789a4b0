"""Run what a study recommended: the engine itself, no proxy of ours in the data path."""
