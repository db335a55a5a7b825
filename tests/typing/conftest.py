"""Keep the programs of this folder from being run: they are there to be type-checked."""

from __future__ import annotations

collect_ignore_glob = ["*"]
