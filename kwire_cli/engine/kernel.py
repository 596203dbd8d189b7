"""The kernel: one function that runs a program over bytes and writes spans. CPython and numba run the very same lines.

It knows no layout; all of it is in the program. Everything it touches is an int or an indexable of ints, so that
`numba.njit` compiles it unchanged: plain lists and bytes when interpreted, int arrays when compiled. It allocates
nothing, and stops when the output is full, to be called again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.engine.codes import (
    COUNT_MISMATCH,
    FATAL,
    INVALID_LENGTH,
    NEGATIVE_LENGTH,
    NULL_NOT_ALLOWED,
    OVERLONG_VARINT,
    PRESENCE_NOT_0_OR_1,
    RECORD_SIZE_MISMATCH,
    STRING_TOO_LONG,
    TAG_DUPLICATE,
    TAG_NOT_VALID,
    TAG_ORDER,
    TAG_SIZE_MISMATCH,
    TRAILING_BYTES,
    TRUNCATED,
    VARINT_EXCESS_BITS,
    VARINT_TOO_LONG,
)
from kwire_cli.engine.program import (
    ARRAY32,
    ARRAYV,
    ARRAYZ,
    FIXED32,
    FIXEDV,
    FRAME,
    GAP,
    JOB,
    LEN32,
    LENU,
    LENV,
    LENZ,
    LOOP,
    MASK,
    PRESENT8,
    PRESENTV,
    REST,
    RUN,
    RUN_ROW,
    SIZEEND,
    STACK,
    STATE_BASE,
    STATE_FLAGS,
    STATE_JOBS,
    STATE_ROOM,
    STATE_SPANS,
    STATE_WIDEST,
    STR16,
    STRIDE,
    TAG_ROW,
    TAGEND,
    TAGNEXT,
    TAGS,
    TAGSIZE,
    TRY,
    TRY_NUMBER,
    TRY_ROW,
    TRY_SIZE,
    UNTIL,
    VARINT,
    WHEN,
)

if TYPE_CHECKING:
    from collections.abc import MutableSequence, Sequence

DONE = 0
FULL = 1


def run(  # noqa: C901, PLR0912, PLR0915 - one function is what numba compiles, and calls are what a kernel cannot afford
    code: Sequence[int],
    tables: Sequence[int],
    data: Any,
    jobs: MutableSequence[int],
    out_node: MutableSequence[int],
    out_value: MutableSequence[int],
    out_end: MutableSequence[int],
    flags: MutableSequence[int],
    state: MutableSequence[int],
) -> int:
    """Walk the jobs over `data`. Span i is [end of span i - 1, value, end); `flags` gets pairs (span, bits) where there
    is something to report.

    `state` is initialised by `engine.spans` (see STATE in `program`). Returns DONE, or FULL if the output is full: the
    caller saves it and calls again with the same state.
    """
    pc = state[0]
    pos = state[1]
    stop = state[2]
    sp = state[3]
    job = state[4]
    left = state[5]
    empty = state[6]
    base = state[STATE_BASE]
    room = state[STATE_ROOM]
    widest = state[STATE_WIDEST]
    count = state[STATE_JOBS]
    n = f = 0
    while True:
        if n > room:
            state[0] = pc
            state[1] = pos
            state[2] = stop
            state[3] = sp
            state[4] = job
            state[5] = left
            state[6] = empty
            state[STATE_BASE] = base + n
            state[STATE_SPANS] = n
            state[STATE_FLAGS] = f
            return FULL
        op = code[pc]
        if op == LOOP:
            state[sp] -= 1
            if state[sp] > 0:
                pc = code[pc + 2]
            else:
                sp -= FRAME
                pc += STRIDE
            continue
        node = code[pc + 1]
        after = pc + STRIDE
        start = pos
        bits = 0

        if op == RUN:
            row = code[pc + 2]
            last = row + RUN_ROW * code[pc + 3]
            if tables[last - 1] <= stop - start:
                while row < last:
                    out_node[n] = tables[row]
                    out_value[n] = pos
                    pos = start + tables[row + 1]
                    out_end[n] = pos
                    n += 1
                    row += RUN_ROW
                pc = after
                continue
            while tables[row + 1] <= stop - start:
                out_node[n] = tables[row]
                out_value[n] = pos
                pos = start + tables[row + 1]
                out_end[n] = pos
                n += 1
                row += RUN_ROW
            start = pos
            node = tables[row]
            bits = TRUNCATED

        elif left > 0:  # in the elements of a FIXED32 or FIXEDV
            row = code[pc + 2]
            fields = code[pc + 3]
            size = tables[row + RUN_ROW * fields - 1]
            batch = left
            if batch * size > stop - pos:
                batch = (stop - pos) // size
            if batch * fields > room + widest - n:
                batch = (room + widest - n) // fields
            left -= batch
            if fields == 1:
                node = tables[row]
                for _ in range(batch):
                    out_node[n] = node
                    out_value[n] = pos
                    pos += size
                    out_end[n] = pos
                    n += 1
            else:
                for _ in range(batch):
                    start = pos
                    for k in range(row, row + RUN_ROW * fields, RUN_ROW):
                        out_node[n] = tables[k]
                        out_value[n] = pos
                        pos = start + tables[k + 1]
                        out_end[n] = pos
                        n += 1
            if left == 0:
                pc = after
                continue
            if stop - pos >= size or n > room:
                continue
            start = pos
            while tables[row + 1] <= stop - start:
                out_node[n] = tables[row]
                out_value[n] = pos
                pos = start + tables[row + 1]
                out_end[n] = pos
                n += 1
                row += RUN_ROW
            start = pos
            node = tables[row]
            bits = TRUNCATED

        elif op >= PRESENT8:
            # A length, a count, a presence marker, a tag or the size of one: first the number ...
            v = 0
            if op >= LENV:
                if pos >= stop:
                    bits = TRUNCATED
                else:
                    v = data[pos] & 255
                    pos += 1
                    if v >= 128:
                        v &= 127
                        shift = 7
                        while True:
                            if pos >= stop:
                                bits |= TRUNCATED
                                break
                            byte = data[pos] & 255
                            pos += 1
                            v |= (byte & 127) << shift
                            if byte < 128:
                                if byte == 0:
                                    bits |= OVERLONG_VARINT
                                if shift == 28:
                                    if byte & 0x70:
                                        bits |= VARINT_EXCESS_BITS
                                    v &= 0xFFFFFFFF
                                    if v >= 0x80000000:
                                        v -= 0x100000000
                                break
                            if shift == 28:
                                bits |= VARINT_TOO_LONG
                                break
                            shift += 7
                    if op <= FIXEDV:
                        v -= 1
                    elif op == TAGS and v == 0 and bits == 0:
                        # no tags: by far the most frequent section
                        out_node[n] = node
                        out_value[n] = pos
                        out_end[n] = pos
                        n += 1
                        pc = code[pc + 4]
                        continue
                    elif op >= LENZ:
                        v = ((v >> 1) & 0x7FFFFFFF) ^ -(v & 1)
            elif op >= LEN32:
                if stop - pos < 4:
                    bits = TRUNCATED
                else:
                    v = (
                        ((data[pos] & 255) << 24)
                        | ((data[pos + 1] & 255) << 16)
                        | ((data[pos + 2] & 255) << 8)
                        | (data[pos + 3] & 255)
                    )
                    if v >= 0x80000000:
                        v -= 0x100000000
                    pos += 4
            elif op == STR16:
                if stop - pos < 2:
                    bits = TRUNCATED
                else:
                    v = ((data[pos] & 255) << 8) | (data[pos + 1] & 255)
                    if v >= 0x8000:
                        v -= 0x10000
                    pos += 2
            elif pos >= stop:
                bits = TRUNCATED
            else:
                v = data[pos] & 255
                pos += 1
            at = pos

            # ... then its meaning.
            if bits >= FATAL:
                if op == TAGSIZE:
                    start = state[sp + 2]

            elif op == FIXEDV or op == FIXED32:
                if v <= 0:
                    if v < 0:
                        if v < -1:
                            bits |= NEGATIVE_LENGTH
                        if code[pc + 4] == 0:
                            bits |= NULL_NOT_ALLOWED
                elif (
                    bits == 0
                    and code[pc + 3] == 1
                    and v * tables[code[pc + 2] + 1] <= stop - pos
                    and n + v < room + widest
                ):
                    # Single numbers, all of them here, and room for them: no second step. A loop by position stays
                    # scalar in LLVM; it is short.
                    out_node[n] = node
                    out_value[n] = at
                    out_end[n] = pos
                    n += 1
                    row = code[pc + 2]
                    node = tables[row]
                    size = tables[row + 1]
                    end = pos + v * size
                    while pos < end:
                        out_node[n] = node
                        out_value[n] = pos
                        pos += size
                        out_end[n] = pos
                        n += 1
                    pc = after
                    continue
                else:
                    if v > stop - pos:
                        bits |= COUNT_MISMATCH
                    if code[pc + 3] > 0:
                        left = v
                        after = pc
                    else:
                        empty += v * code[pc + 2]
                        if empty > stop - jobs[job * JOB + 1]:
                            bits |= INVALID_LENGTH

            elif op == LENV or op == STR16 or op == LEN32 or op == LENZ or op == LENU:
                if v >= 0:
                    pos += v
                    if v > code[pc + 3]:
                        bits |= STRING_TOO_LONG
                    if pos > stop:
                        bits |= TRUNCATED
                else:
                    if v < -1:
                        bits |= NEGATIVE_LENGTH
                    if code[pc + 2] == 0:
                        bits |= NULL_NOT_ALLOWED

            elif op == TAGS:
                if v > 0:
                    sp += FRAME
                    state[sp] = v
                    state[sp + 1] = -1
                else:
                    after = code[pc + 4]
                    if v < 0:
                        bits |= NEGATIVE_LENGTH

            elif op == ARRAYV or op == ARRAY32 or op == ARRAYZ:
                if v > 0:
                    if v > stop - pos:
                        bits |= COUNT_MISMATCH
                    sp += FRAME
                    state[sp] = v
                    if code[pc + 4] > 0:
                        empty += v * code[pc + 4]
                        if empty > stop - jobs[job * JOB + 1]:
                            bits |= INVALID_LENGTH
                else:
                    after = code[pc + 2]
                    if v < -1:
                        bits |= NEGATIVE_LENGTH
                    if v < 0 and code[pc + 3] == 0:
                        bits |= NULL_NOT_ALLOWED

            elif op == TAGNEXT:
                if v < state[sp + 1] or v < 0:
                    bits |= TAG_ORDER
                elif v == state[sp + 1]:
                    bits |= TAG_DUPLICATE
                state[sp + 1] = v
                state[sp + 2] = start
                state[sp + 3] = bits
                pc = after
                continue

            elif op == TAGSIZE:
                section = code[pc + 2]
                bits |= state[sp + 3]
                row = code[section + 2]
                last = code[section + 3]
                while last > 1:  # the rows ascend; there can be thousands
                    half = last >> 1
                    if tables[row + TAG_ROW * half] <= state[sp + 1]:
                        row += TAG_ROW * half
                    last -= half
                entry = -1
                if last == 1 and tables[row] == state[sp + 1]:
                    entry = tables[row + 1]
                    node = tables[row + 2]
                    if entry < 0:
                        bits |= TAG_NOT_VALID
                if entry >= 0:
                    state[sp + 2] = pos + v
                    state[sp + 3] = base + n
                    after = entry
                elif v < 0 or v > stop - pos:
                    bits |= INVALID_LENGTH if v < 0 else TRUNCATED
                    start = state[sp + 2]
                else:
                    if bits:
                        flags[f] = base + n
                        flags[f + 1] = bits
                        f += 2
                        bits = 0
                    out_node[n] = node
                    out_value[n] = pos
                    out_end[n] = pos
                    n += 1
                    node += 1
                    pos += v
                    after = pc - STRIDE
                    state[sp] -= 1
                    if state[sp] == 0:
                        sp -= FRAME
                        after = code[section + 4]

            elif op == PRESENT8:
                if v != 1 and v != 255:
                    bits |= PRESENCE_NOT_0_OR_1
                if v >= 128:
                    after = code[pc + 2]

            elif op == PRESENTV:
                if v != 0 and v != 1:
                    bits |= PRESENCE_NOT_0_OR_1
                if v <= 0:
                    after = code[pc + 2]

            else:  # SIZE32, SIZEU or SIZEZ
                sp += FRAME
                state[sp] = pos + v
                state[sp + 1] = pos
                state[sp + 2] = base + n

            if bits < FATAL:
                if bits:
                    flags[f] = base + n
                    flags[f + 1] = bits
                    f += 2
                out_node[n] = node
                out_value[n] = at
                out_end[n] = pos
                n += 1
                pc = after
                continue

        elif op == TRY:
            first = n
            top = sp
            row = code[pc + 2]
            last = row + TRY_ROW * code[pc + 3]
            while row < last:
                at = pos
                form = tables[row + 1]
                if form > 0:
                    pos += form
                else:
                    if stop - pos < 3:
                        break
                    v = data[pos] & 255
                    pos += 1
                    if v >= 128:
                        byte = data[pos] & 255
                        pos += 1
                        v = (v & 127) | (byte << 7)
                        if byte >= 128:
                            byte = data[pos] & 255
                            pos += 1
                            v = (v & 0x3FFF) | (byte << 14)
                        if byte == 0 or byte >= 128:
                            break
                    if form != TRY_NUMBER:
                        at = pos
                        v = (v >> 1) ^ -(v & 1)
                        if form == TRY_SIZE:
                            sp += FRAME
                            state[sp] = pos + v
                            state[sp + 1] = pos
                            state[sp + 2] = base + n
                        elif v > 0:
                            pos += v
                        elif v < tables[row + 2]:
                            break
                if pos > stop:
                    break
                out_node[n] = tables[row]
                out_value[n] = at
                out_end[n] = pos
                n += 1
                row += TRY_ROW
            if row == last:
                # The most frequent continuations: few or no headers, the end of a header, the end of a record.
                pc = code[pc + 4]
                if code[pc] == ARRAYZ:
                    v = data[pos] & 255 if pos < stop else 1
                    if v == 0 or (v < 128 and v & 1 == 0 and code[pc + 4] == 0 and v >> 1 < stop - pos):
                        pos += 1
                        out_node[n] = code[pc + 1]
                        out_value[n] = pos
                        out_end[n] = pos
                        n += 1
                        if v > 0:
                            sp += FRAME
                            state[sp] = v >> 1
                            pc += STRIDE
                            continue
                        pc = code[pc + 2]
                elif code[pc] == LOOP:
                    state[sp] -= 1
                    if state[sp] > 0:
                        pc = code[pc + 2]
                        continue
                    sp -= FRAME
                    pc += STRIDE
                if code[pc] == SIZEEND and pos == state[sp]:
                    sp -= FRAME
                    pc += STRIDE
                    if code[pc] == UNTIL and pos < (state[sp] if code[pc + 4] else stop):
                        pc = code[pc + 3]
                continue
            pc = after
            pos = start
            sp = top
            n = first
            continue

        elif op == UNTIL:
            pc = code[pc + 3] if pos < (state[sp] if code[pc + 4] else stop) else code[pc + 2]
            continue

        elif op == VARINT:
            most = code[pc + 2]
            while True:
                if pos >= stop:
                    bits |= TRUNCATED
                    break
                byte = data[pos] & 255
                pos += 1
                if byte < 128:
                    if byte == 0 and pos - start > 1:
                        bits |= OVERLONG_VARINT
                    if pos - start == most and byte & code[pc + 3]:
                        bits |= VARINT_EXCESS_BITS
                    break
                if pos - start == most:
                    bits |= VARINT_TOO_LONG
                    break
            if bits < FATAL:
                if bits:
                    flags[f] = base + n
                    flags[f + 1] = bits
                    f += 2
                out_node[n] = node
                out_value[n] = start
                out_end[n] = pos
                n += 1
                pc = after
                continue

        elif op == TAGEND:
            if pos != state[sp + 2]:
                flags[f] = state[sp + 3]
                flags[f + 1] = TAG_SIZE_MISMATCH
                f += 2
            pc = code[pc + 2]
            state[sp] -= 1
            if state[sp] == 0:
                sp -= FRAME
                pc = code[pc - STRIDE + 4]
            continue

        elif op == SIZEEND:
            if pos != state[sp]:
                flags[f] = state[sp + 2]
                flags[f + 1] = RECORD_SIZE_MISMATCH
                f += 2
            sp -= FRAME
            pc = after
            continue

        elif op == WHEN:
            mask = code[pc + 3] // MASK
            pc = after if data[state[sp + 1] + code[pc + 2]] & mask == code[pc + 3] % MASK else code[pc + 4]
            continue

        elif op == REST:
            pos = max(state[sp] - code[pc + 2], start)
            if pos <= stop:
                out_node[n] = node
                out_value[n] = start
                out_end[n] = pos
                n += 1
                pc = after
                continue
            bits = TRUNCATED

        elif pos < stop:
            bits = TRAILING_BYTES

        # The job ends here: after its last field, with remaining bytes, or at an error. The remaining bytes are a gap.
        if bits:
            out_node[n] = GAP
            out_value[n] = start
            out_end[n] = stop
            flags[f] = base + n
            flags[f + 1] = bits
            f += 2
            n += 1
        row = job * JOB
        jobs[row + 4] = start
        jobs[row + 5] = bits
        jobs[row + 6] = node
        job += 1
        if job == count:
            state[STATE_BASE] = base + n
            state[STATE_SPANS] = n
            state[STATE_FLAGS] = f
            return DONE
        row += JOB
        jobs[row + 3] = base + n
        pc = jobs[row]
        pos = jobs[row + 1]
        stop = jobs[row + 2]
        sp = STACK - FRAME
        left = 0
        empty = 0
