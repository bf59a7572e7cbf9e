# SPDX-License-Identifier: Apache-2.0
"""A pickle reader that executes nothing.

The opcodes are interpreted here, one by one. A GLOBAL does not import anything: it looks its name up in a short table of
functions of ours that build plain values. Opcodes and names outside the tables are refused with their position.
Python's own pickle module is not used: its machine would call whatever a file names.
"""
import struct

from .errors import FormatError

MAX_MEMO = 1 << 26


class Mark:
    pass


class SafePickle:
    """One pickle. `globals_` maps (module, name) to a function of the arguments; `persistent` resolves persistent ids."""

    def __init__(self, data, source, globals_, persistent=None):
        self.data, self.source, self.globals, self.persistent = data, source, globals_, persistent
        self.at, self.stack, self.memo, self.mark = 0, [], {}, Mark()

    def fail(self, text):
        raise FormatError(f"'{self.source}', byte {self.at}: {text}")

    def take(self, count):
        if count < 0 or self.at + count > len(self.data):
            self.fail("the pickle is cut")
        piece = self.data[self.at:self.at + count]
        self.at += count
        return piece

    def line(self):
        end = self.data.find(b"\n", self.at)
        if end < 0:
            self.fail("the pickle is cut")
        piece = self.data[self.at:end]
        self.at = end + 1
        return piece.decode("ascii", "replace")

    def number(self, code):
        return struct.unpack("<" + code, self.take(struct.calcsize("<" + code)))[0]

    def pop(self):
        if not self.stack or self.stack[-1] is self.mark:
            self.fail("a value is missing")
        return self.stack.pop()

    def pop_mark(self):
        items = []
        while self.stack and self.stack[-1] is not self.mark:
            items.append(self.stack.pop())
        if not self.stack:
            self.fail("a mark is missing")
        self.stack.pop()
        return items[::-1]

    def top(self, kind):
        if not self.stack or not isinstance(self.stack[-1], kind):
            self.fail(f"a {kind.__name__} was expected")
        return self.stack[-1]

    def load(self):
        while True:
            code = self.take(1)[0]
            if code == 0x2E:  # STOP
                return self.pop()
            step = OPCODES.get(code)
            if step is None:
                self.fail(f"opcode 0x{code:02x} is not among those that a data file needs")
            step(self)

    # ---- steps ----

    def remember(self, key):
        if len(self.memo) >= MAX_MEMO or not self.stack:
            self.fail("the memo is too long or there is nothing to remember")
        self.memo[key] = self.stack[-1]

    def recall(self, key):
        if key not in self.memo:
            self.fail(f"memo {key} was never set")
        self.stack.append(self.memo[key])

    def find_global(self, module, name):
        function = self.globals.get((module, name))
        if function is None:
            self.fail(f"'{module}.{name}' is not among the names that a data file needs; nothing was executed")
        self.stack.append(function)

    def call(self):
        arguments, function = self.pop(), self.pop()
        if not any(function is known for known in self.globals.values()) or not isinstance(arguments, tuple):
            self.fail("a call of something that is no constructor")
        try:
            self.stack.append(function(*arguments))
        except (TypeError, ValueError, KeyError) as error:
            self.fail(f"a value cannot be built: {error}")

    def build(self):
        state = self.pop()
        target = self.stack[-1] if self.stack else None
        if not hasattr(type(target), "set_state"):
            self.fail("a state for something that has none")
        try:
            target.set_state(state)
        except (TypeError, ValueError, KeyError, AttributeError, IndexError) as error:
            self.fail(f"a value cannot be built: {error}")

    def append_all(self):
        items = self.pop_mark()
        self.top(list).extend(items)

    def append_one(self):
        item = self.pop()
        self.top(list).append(item)

    def set_items(self):
        items = self.pop_mark()
        target = self.top(dict)
        for key, value in zip(items[::2], items[1::2]):
            target[key] = value

    def set_one(self):
        value, key = self.pop(), self.pop()
        self.top(dict)[key] = value

    def make_tuple(self, count):
        items = [self.pop() for _ in range(count)]
        self.stack.append(tuple(items[::-1]))

    def persistent_id(self):
        key = self.pop()
        if self.persistent is None:
            self.fail("a reference to data outside the pickle")
        self.stack.append(self.persistent(key))

    def stack_global(self):
        name, module = self.pop(), self.pop()
        self.find_global(str(module), str(name))

    def text(self, size):
        self.stack.append(self.take(size).decode("utf-8", "surrogatepass"))

    def long(self, size):
        self.stack.append(int.from_bytes(self.take(size), "little", signed=True))

    def protocol(self):
        version = self.number("B")
        if version > 5:
            self.fail(f"pickle protocol {version}, the newest known is 5")


def _push(value):
    return lambda p: p.stack.append(value() if callable(value) else value)


OPCODES = {
    0x80: SafePickle.protocol,
    0x95: lambda p: p.take(8),                                  # FRAME
    ord("("): lambda p: p.stack.append(p.mark),
    ord("0"): SafePickle.pop,
    ord("N"): _push(None), 0x88: _push(True), 0x89: _push(False),
    ord("]"): _push(list), ord("}"): _push(dict), ord(")"): _push(tuple),
    ord("K"): lambda p: p.stack.append(p.number("B")),
    ord("M"): lambda p: p.stack.append(p.number("H")),
    ord("J"): lambda p: p.stack.append(p.number("i")),
    ord("G"): lambda p: p.stack.append(struct.unpack(">d", p.take(8))[0]),
    0x8A: lambda p: p.long(p.number("B")),
    ord("U"): lambda p: p.stack.append(p.take(p.number("B"))),  # SHORT_BINSTRING
    ord("T"): lambda p: p.stack.append(p.take(p.number("i"))),  # BINSTRING
    ord("C"): lambda p: p.stack.append(p.take(p.number("B"))),
    ord("B"): lambda p: p.stack.append(p.take(p.number("I"))),
    0x8E: lambda p: p.stack.append(p.take(p.number("Q"))),      # BINBYTES8
    ord("X"): lambda p: p.text(p.number("I")),
    0x8C: lambda p: p.text(p.number("B")),
    ord("t"): lambda p: p.stack.append(tuple(p.pop_mark())),
    0x85: lambda p: p.make_tuple(1), 0x86: lambda p: p.make_tuple(2), 0x87: lambda p: p.make_tuple(3),
    ord("a"): SafePickle.append_one, ord("e"): SafePickle.append_all,
    ord("s"): SafePickle.set_one, ord("u"): SafePickle.set_items,
    ord("q"): lambda p: p.remember(p.number("B")), ord("r"): lambda p: p.remember(p.number("I")),
    0x94: lambda p: p.remember(len(p.memo)),
    ord("h"): lambda p: p.recall(p.number("B")), ord("j"): lambda p: p.recall(p.number("I")),
    ord("c"): lambda p: p.find_global(p.line(), p.line()),
    0x93: SafePickle.stack_global,
    ord("R"): SafePickle.call, 0x81: SafePickle.call,           # REDUCE, NEWOBJ
    ord("b"): SafePickle.build,
    ord("Q"): SafePickle.persistent_id,
}
