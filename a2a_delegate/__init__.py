"""Honest delegation to agents and tools that you do not run."""
