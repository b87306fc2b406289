"""Decode a capture in this process and say how long that took, start-up not counted."""

import json
import sys
import time

from seqaudit.decoders.capture.pieces import TO_THE_END, plan_pieces
from seqaudit.decoders.network.account import CAPTURE_SYSTEM
from seqaudit.decoders.stages.first import decode_piece
from seqaudit.decoders.stages.registry import DecodeSettings


def main() -> None:
    """``{"cpu_s": …, "messages": …, "rows": …}`` of the second of two turns."""
    settings = DecodeSettings(compile_it=True, finish_fragments=True)
    told: dict[str, float] = {}
    for _ in range(2):
        begun = time.process_time()
        rows = messages = 0
        for piece in plan_pieces(sys.argv[1], 0, 0, TO_THE_END):
            for batch in decode_piece(piece, settings):
                rows += batch.num_rows
                if batch.num_rows == 1 and batch.column("system")[0].as_py() == CAPTURE_SYSTEM:
                    account = json.loads(batch.column("detail")[0].as_py())
                    messages += sum(sum(k.values()) for k in account["messages_by"].values())
        told = {"cpu_s": time.process_time() - begun, "messages": messages, "rows": rows}
    print(json.dumps(told))


if __name__ == "__main__":
    main()
