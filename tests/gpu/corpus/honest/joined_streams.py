"""Does half of the backward pass on a second stream and joins it before returning."""

import torch


def _forward(a, b, out):
    out.copy_((a.float() @ b.float().T).to(torch.bfloat16))


def _backward(a, b, dout, da, db):
    da.copy_((dout.float() @ b.float()).to(torch.bfloat16))
    db.copy_((dout.float().T @ a.float()).to(torch.bfloat16))


_side = torch.cuda.Stream()


def forward(*tensors):
    _forward(*tensors)


def backward(a, b, dout, da, db):
    main = torch.cuda.current_stream()
    _side.wait_stream(main)
    with torch.cuda.stream(_side):
        db.copy_((dout.float().T @ a.float()).to(torch.bfloat16))
    da.copy_((dout.float() @ b.float()).to(torch.bfloat16))
    main.wait_stream(_side)
