"""The sans-IO core: observations in, commands out; no clock, no network, no version."""
