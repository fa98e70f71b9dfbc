"""Hashes tensors on the GPU by integer arithmetic, which is exact in any order of summation."""

import torch

from workload import combine

_CHUNK = 1 << 24


def digest_of(tensors):
    """Returns a 64-bit hash of the bits of all tensors, in order."""
    digest = 0
    for tensor in tensors:
        words = tensor.detach().contiguous().view(-1).view(torch.int32)
        for begin in range(0, words.numel(), _CHUNK):
            part = words[begin : begin + _CHUNK]
            index = torch.arange(part.numel(), dtype=torch.int32, device=part.device)
            mixed = (part ^ (index * -1640531535)) * -2048144777
            mixed = (mixed ^ (mixed >> 15)) * -1028477379
            digest = combine(digest, int(mixed.sum(dtype=torch.int64).item()))
    return digest


def set_deterministic(seed):
    """Makes torch deterministic. CUBLAS_WORKSPACE_CONFIG must be set before torch is imported."""
    torch.manual_seed(seed)
    torch.use_deterministic_algorithms(True)
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.benchmark = False
