"""Jraph: message passing, where senders and receivers are integer inputs."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from . import Made, floats, ints, program


def _jraph() -> Any:
    """Jraph, which still calls `jax.tree_map` by the name JAX has since dropped."""
    if not hasattr(jax, "tree_map"):
        jax.tree_map = jax.tree.map  # type: ignore[attr-defined]
    import jraph

    return jraph


def _two_graphs() -> Any:
    return _jraph().GraphsTuple(
        nodes=floats(10, 4),
        edges=floats(20, 4),
        senders=ints(20),
        receivers=ints(20),
        globals=floats(2, 4),
        n_node=ints(2),
        n_edge=ints(2),
    )


@program("jraph/graph_network_gradient", "jraph")
def graph_network_gradient() -> Made:
    jraph = _jraph()

    def loss(weight: jax.Array, graph: Any) -> jax.Array:
        def update(*features: Any) -> jax.Array:
            total = sum(leaf.sum(-1, keepdims=True) for leaf in jax.tree.leaves(features))
            return jnp.tanh(total * weight)

        network = jraph.GraphNetwork(update_edge_fn=update, update_node_fn=update, update_global_fn=update)
        return network(graph).globals.sum()

    return jax.grad(loss), (floats(1), _two_graphs())


@program("jraph/graph_attention", "jraph")
def graph_attention() -> Made:
    jraph = _jraph()

    def attend(weight: jax.Array, graph: Any) -> jax.Array:
        network = jraph.GAT(
            lambda nodes: nodes @ weight,
            lambda sent, received, _: jnp.sum(sent * received, -1, keepdims=True),
        )
        return network(graph._replace(edges=None)).nodes

    return attend, (floats(4, 4), _two_graphs())


@program("jraph/graph_convolution", "jraph")
def graph_convolution() -> Made:
    jraph = _jraph()

    def convolve(weight: jax.Array, graph: Any) -> jax.Array:
        layer = jraph.GraphConvolution(lambda nodes: nodes @ weight, symmetric_normalization=True, add_self_edges=True)
        return layer(graph).nodes

    return convolve, (floats(4, 4), _two_graphs())


@program("jraph/padding_masks", "jraph")
def padding_masks() -> Made:
    jraph = _jraph()

    def masks(graph: Any) -> Any:
        return (
            jraph.get_node_padding_mask(graph),
            jraph.get_edge_padding_mask(graph),
            jraph.zero_out_padding(graph),
        )

    return masks, (_two_graphs(),)
