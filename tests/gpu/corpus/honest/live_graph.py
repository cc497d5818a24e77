"""Replays a graph on buffers that are filled with the live inputs first."""

import torch


def _forward(a, b, out):
    out.copy_((a.float() @ b.float().T).to(torch.bfloat16))


def _backward(a, b, dout, da, db):
    da.copy_((dout.float() @ b.float()).to(torch.bfloat16))
    db.copy_((dout.float().T @ a.float()).to(torch.bfloat16))


_graphs = {}


def _replay(work, inputs, outputs):
    key = (work.__name__, *(tuple(one.shape) for one in (*inputs, *outputs)))
    if not all(one.numel() for one in inputs):
        work(*inputs, *outputs)
        return
    if key not in _graphs:
        kept = [one.clone() for one in inputs]
        made = [torch.empty_like(one) for one in outputs]
        work(*kept, *made)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            work(*kept, *made)
        _graphs[key] = graph, kept, made
    graph, kept, made = _graphs[key]
    for one, given in zip(kept, inputs):
        one.copy_(given)
    graph.replay()
    for output, one in zip(outputs, made):
        output.copy_(one)


def forward(a, b, out):
    _replay(_forward, (a, b), (out,))


def backward(a, b, dout, da, db):
    _replay(_backward, (a, b, dout), (da, db))
