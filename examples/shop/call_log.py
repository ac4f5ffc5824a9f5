"""What left Median: the verified calls that the endpoint received, newest first, in memory."""

import json
import threading
from collections import deque
from datetime import UTC, datetime

from median_tools import Answer, Call, Json

KEPT = 500


class CallLog:
    """The last 500 calls with their outcomes. Safe to share between threads."""

    def __init__(self) -> None:
        self._rows: deque[dict[str, Json]] = deque(maxlen=KEPT)
        self._lock = threading.Lock()

    def add(self, call: Call, answer: Answer) -> None:
        """Writes down a call and what it was answered; the shape that /log.json shows."""
        visitor = call.context.visitor
        row: dict[str, Json] = {
            "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "toolCallId": call.context.tool_call_id,
            "conversationId": call.context.conversation_id,
            "tool": call.tool,
            "risk": call.context.risk,
            "input": call.input,
            "approvedBy": call.context.approved_by,
            "visitor": {
                "verified": visitor.verified,
                "externalId": visitor.external_id,
                "email": visitor.email,
                "name": visitor.name,
            },
            "status": answer.status,
            "outcome": json.loads(answer.body),
        }
        with self._lock:
            self._rows.appendleft(row)

    def newest(self) -> list[dict[str, Json]]:
        with self._lock:
            return list(self._rows)
