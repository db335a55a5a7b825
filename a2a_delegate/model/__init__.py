"""One internal model of tasks, messages and cards: frozen, and without a protocol version."""
