"""The loop that drives the core with real time, and the tasks that it owns."""
