"""Refs that are read and never written: they hold what they were made from."""

from __future__ import annotations

from typing import Any, Final

from redzone.engine.frames import Frame
from redzone.engine.inventory import CALLS, RUN_STATE_P, SHARD_MAP_P
from redzone.frontend.compat import open_jaxpr, primitives

_GET_P: Final = primitives().get("get_p")
_NEW_REF_P: Final = primitives().get("new_ref_p")


def is_only_read(frame: Frame, ref: Any) -> bool:
    """Whether a ref made here or handed to this run_state, or to a call in it, is read and nothing else is done.

    Whoever hands it to a call may write to it before.
    """
    while (
        ref in frame.bindings and frame.parent is not None and getattr(frame.call, "primitive", None) is not RUN_STATE_P
    ):
        frame, ref = frame.parent, frame.bindings[ref]
    jaxpr = frame.jaxpr
    made = ref in frame.bindings or any(e.primitive is _NEW_REF_P and ref in e.outvars for e in jaxpr.eqns)
    return made and _only_reads(jaxpr, ref)


def _only_reads(jaxpr: Any, ref: Any) -> bool:
    """Whether all that a jaxpr does with a ref is to read it, itself or in what it calls."""
    if ref in jaxpr.outvars:
        return False
    for eqn in jaxpr.eqns:
        places = [k for k, atom in enumerate(eqn.invars) if atom is ref]
        if not places or eqn.primitive is _GET_P:
            continue
        if eqn.primitive not in CALLS or eqn.primitive is SHARD_MAP_P:
            return False
        inner = open_jaxpr(eqn.params[CALLS[eqn.primitive]])[0]
        if len(inner.invars) != len(eqn.invars) or not all(_only_reads(inner, inner.invars[k]) for k in places):
            return False
    return True
