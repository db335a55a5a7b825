"""Everything that carries calls, over one client."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from a2a_delegate.bindings.http_json import HttpJsonBinding
from a2a_delegate.bindings.jsonrpc import JsonRpcBinding
from a2a_delegate.model.card import Binding

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx

    from a2a_delegate.bindings.call import Carriage
    from a2a_delegate.bindings.carriage import Bounds


def carriages(client: httpx.AsyncClient, *, bounds: Bounds) -> Mapping[Binding, Carriage]:
    """Return what carries the calls of each binding that is spoken; see the bindings themselves."""
    return MappingProxyType(
        {
            Binding.JSONRPC: JsonRpcBinding(client, bounds=bounds),
            Binding.HTTP_JSON: HttpJsonBinding(client, bounds=bounds),
        }
    )
