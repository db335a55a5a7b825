"""Carriage: how a request travels and how what comes back is received."""
