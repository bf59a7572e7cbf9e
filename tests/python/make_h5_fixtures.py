# SPDX-License-Identifier: Apache-2.0
"""Makes tests/data/h5/*.h5: small files as other writers make them (h5py 3.16, HDF5 2.0 at the time of writing).

  python make_h5_fixtures.py FOLDER

They are stored with the sources, so that the tests need no Python; this script says what is in them.
"""
import os
import struct
import sys

import h5py
import numpy as np


def values(path):
    """Types that our reader must take, and attributes of each shape."""
    with h5py.File(path, "w") as f:
        f["be_i64"] = np.array([1, -2, 3 << 40], ">i8")
        f["be_f32"] = np.array([1.5, -2.25], ">f4")
        f["u16"] = np.array([1, 65535], "<u2")
        f["u32"] = np.array([1, 4000000000], "<u4")
        f["u64"] = np.array([1, 2**63 - 1], "<u8")
        f["u64_big"] = np.array([7, 2**63], "<u8")
        f["i64_big"] = np.array([7, 2**31], "<i8")
        f["f16"] = np.array([[1.0, -0.5], [65504.0, 6e-8]], "<f2")
        f["f64"] = np.array([0.1, -1e30], "<f8")
        f["f64_big"] = np.array([[1.0, 2.0], [3.0, 1e39]], "<f8")
        f["bool"] = np.array([True, False, True])
        f["column"] = np.array([[3], [4]], "<i4")
        f["scalar"] = np.int32(5)
        f["empty"] = np.zeros((0, 3), "<f4")
        f["null"] = h5py.Empty("f4")
        f["texts"] = np.array(["one", "zwei", "drei \u00e4"], dtype=object)
        f["fixed"] = np.array([b"ab", b"cdefg", b""], "S5")
        f["compound"] = np.zeros(2, [("a", "<i4"), ("b", "<f4")])
        f.create_dataset("gzip", data=np.arange(1000, dtype="<i4"), compression="gzip", shuffle=True, fletcher32=True)
        f.create_dataset("lzf", data=np.arange(1000, dtype="<i4"), compression="lzf")
        f.create_dataset("claim", shape=(1 << 40,), dtype="<f4", chunks=(1 << 20,))
        f["rank5"] = np.zeros((1, 1, 1, 1, 1), "<f4")
        d = f["u16"]
        d.attrs["int"] = 7
        d.attrs["float"] = 0.25
        d.attrs["text"] = "hello"
        d.attrs["fixed"] = np.bytes_(b"bytes")
        d.attrs["ints"] = np.array([1, 2, 3], "<i2")
        d.attrs["floats"] = np.array([0.5, 1.5])
        d.attrs["names"] = ["a", "b\u00fc"]
        d.attrs["flag"] = True
        d.attrs["matrix"] = np.zeros((2, 2))
        d.attrs["encoding-type"] = "array"


def damage(small, folder):
    """Breaks the global heap of a small dataset: a reference to an object that is not there, a free object of no size."""
    healthy = open(small, "rb").read()
    heap = healthy.find(b"GCOL")
    broken = bytearray(healthy)
    at = broken.find(struct.pack("<Q", heap))
    while not 1 <= struct.unpack("<I", broken[at + 8 : at + 12])[0] <= 14:
        at = broken.find(struct.pack("<Q", heap), at + 1)
    broken[at + 8 : at + 12] = struct.pack("<I", 0x7FFFFFFF)
    open(os.path.join(folder, "heap_crash.h5"), "wb").write(broken)
    broken = bytearray(healthy)
    at = heap + 16
    while broken[at : at + 2] != b"\0\0":  # index 0 is the free space
        at += 16 + (struct.unpack("<Q", broken[at + 8 : at + 16])[0] + 7) // 8 * 8
    broken[at + 8 : at + 16] = bytes(8)
    open(os.path.join(folder, "heap_loop.h5"), "wb").write(broken)


def main():
    folder = sys.argv[1]
    damage(os.path.join(os.path.dirname(__file__), "../fuzz/corpus/dataset/small.h5"), folder)
    values(os.path.join(folder, "values.h5"))
    with h5py.File(os.path.join(folder, "latest.h5"), "w", libver="latest") as f:
        f.create_dataset("x", data=np.arange(1000, dtype="<f4"), chunks=(10,))
        f["small"] = np.arange(3, dtype="<i4")


if __name__ == "__main__":
    main()
