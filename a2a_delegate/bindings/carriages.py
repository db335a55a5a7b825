"""Everything that carries calls, over one client."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from a2a_delegate.bindings.jsonrpc import JsonRpcBinding
from a2a_delegate.model.card import Binding

if TYPE_CHECKING:
    import httpx

    from a2a_delegate.bindings.call import Carriage
    from a2a_delegate.bindings.carriage import Bounds


class Carriages(Mapping[Binding, "Carriage"]):
    """What carries the calls of each binding that is spoken, made when it is first asked for.

    Most agents are asked over JSON-RPC, and an import that nobody needs costs everybody.
    """

    _SPOKEN = (Binding.JSONRPC, Binding.HTTP_JSON)

    def __init__(self, client: httpx.AsyncClient, *, bounds: Bounds) -> None:
        self._client = client
        self._bounds = bounds
        self._made: dict[Binding, Carriage] = {}

    def __getitem__(self, binding: Binding) -> Carriage:
        """Return the one; the same each time."""
        if binding not in self._SPOKEN:
            raise KeyError(binding)
        if binding not in self._made:
            self._made[binding] = self._make(binding)
        return self._made[binding]

    def _make(self, binding: Binding) -> Carriage:
        if binding is Binding.JSONRPC:
            return JsonRpcBinding(self._client, bounds=self._bounds)
        from a2a_delegate.bindings.http_json import HttpJsonBinding  # noqa: PLC0415 - see above

        return HttpJsonBinding(self._client, bounds=self._bounds)

    def __iter__(self) -> Iterator[Binding]:
        """Iterate over the bindings."""
        return iter(self._SPOKEN)

    def __len__(self) -> int:
        """Return how many bindings there are."""
        return len(self._SPOKEN)
