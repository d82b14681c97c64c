"""Pairs → weights: loss, schedule, loop, checkpoint; and the model folder they end in."""
