"""Judgements with evidence: was the run sound, did it help, was behaviour kept, is the service change only rounding."""
