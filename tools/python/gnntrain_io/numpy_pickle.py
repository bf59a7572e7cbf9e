# SPDX-License-Identifier: Apache-2.0
"""What numpy arrays and scipy matrices are made of in a pickle, as plain holders: names for SafePickle's table."""
import numpy

from .errors import FormatError

PLAIN_KINDS = "biuf"


def _text(value):
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


class DType:
    def __init__(self, name, *_):
        self.dtype = numpy.dtype(_text(name))
        if self.dtype.kind not in PLAIN_KINDS:
            raise ValueError(f"arrays of type {_text(name)} hold no plain numbers")

    def set_state(self, state):
        order = _text(state[1])
        if order in "<>":
            self.dtype = self.dtype.newbyteorder(order)


class Array:
    def __init__(self, *_):
        self.value = None

    def set_state(self, state):
        _, shape, dtype, fortran, data = state
        if not isinstance(data, bytes):
            raise ValueError("the items of an array are no bytes")
        value = numpy.frombuffer(data, dtype=dtype.dtype)
        self.value = value.reshape(shape, order="F" if fortran else "C")


class CsrMatrix:
    def __init__(self, *_):
        self.data = self.indices = self.indptr = self.shape = None

    def set_state(self, state):
        state = {_text(key): value for key, value in state.items()}
        self.data, self.indices = state["data"].value, state["indices"].value
        self.indptr, self.shape = state["indptr"].value, tuple(state["_shape"])

    def checked(self, source):
        rows, columns = self.shape
        ok = (len(self.indptr) == rows + 1 and self.indptr[0] == 0 and (numpy.diff(self.indptr) >= 0).all()
              and self.indptr[-1] == len(self.indices) == len(self.data)
              and (len(self.indices) == 0 or (self.indices.min() >= 0 and self.indices.max() < columns)))
        if not ok:
            raise FormatError(f"'{source}': pointers and indices of its matrix do not fit its shape {self.shape}")
        return self


def scalar(dtype, data):
    return numpy.frombuffer(data, dtype=dtype.dtype)[0].item()


def encode(text, encoding):
    """_codecs.encode, by which newer Pythons write bytes in protocol 2."""
    if encoding not in ("latin1", "latin-1"):
        raise ValueError(f"encoding {encoding}")
    return text.encode("latin-1")


NUMPY_NAMES = {
    ("numpy", "dtype"): DType,
    ("numpy", "ndarray"): lambda *_: None,
    ("numpy.core.multiarray", "_reconstruct"): Array,
    ("numpy._core.multiarray", "_reconstruct"): Array,
    ("numpy.core.multiarray", "scalar"): scalar,
    ("numpy._core.multiarray", "scalar"): scalar,
    ("_codecs", "encode"): encode,
}
SCIPY_NAMES = {
    ("scipy.sparse.csr", "csr_matrix"): CsrMatrix,
    ("scipy.sparse._csr", "csr_matrix"): CsrMatrix,
}
