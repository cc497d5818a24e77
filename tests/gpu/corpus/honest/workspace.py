"""Keeps a workspace for each stream from call to call, but nothing in it that a later call reads."""

import torch


_space = {}


def _multiply(x, y, z):
    stream = torch.cuda.current_stream().cuda_stream if z.is_cuda else 0
    key = (stream, *z.shape)
    if key not in _space:
        _space[key] = torch.empty(z.shape, dtype=torch.float32, device=z.device)
    torch.mm(x.float(), y.float(), out=_space[key])
    z.copy_(_space[key])


def forward(a, b, out):
    _multiply(a, b.T, out)


def backward(a, b, dout, da, db):
    _multiply(dout, b, da)
    _multiply(dout.T, a, db)
