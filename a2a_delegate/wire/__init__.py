"""The words of the protocol: one dialect a version, the envelope, faults, cards and the gate.

Nothing here sends anything. Writing is strict, reading is tolerant, and no input from a peer
raises, but for the typed refusals of the card reader and the gate.
"""
