"""Takes a stream of server-sent events apart, as the network brings it.

A plain function call for each piece of the network: `openai`'s own stream goes through several generators for each
event, and an answer has some hundred of them.
"""

_DONE = "[DONE]"
"""The data of the last event of OpenAI-compatible endpoints."""


class EventDecoder:
    """Feed it every piece with `feed`. Lines end with LF, CR or CRLF, wherever the pieces are cut."""

    def __init__(self) -> None:
        self._begun = b""
        self._after_carriage_return = False
        self._data: list[bytes] = []
        self.ended = False
        """Whether the event has come that says that no more will."""

    def feed(self, piece: bytes) -> list[str]:
        """The data of each event that is complete with this piece, up to the last one. May raise UnicodeDecodeError."""
        events: list[str] = []
        for line in self._lines(piece):
            if line.startswith(b"data:"):
                self._data.append(line[5:].removeprefix(b" "))
            elif not line and self._data:
                data, self._data = b"\n".join(self._data).decode(), []
                self.ended = data.startswith(_DONE)
                if self.ended:
                    break
                events.append(data)
        return events

    def _lines(self, piece: bytes) -> list[bytes]:
        """The lines that end in this piece, without their ends."""
        if self._after_carriage_return and piece:
            piece, self._after_carriage_return = piece.removeprefix(b"\n"), False
        if not piece:
            return []
        self._after_carriage_return = piece.endswith(b"\r")
        text = self._begun + piece
        lines = text.splitlines()
        self._begun = b"" if text.endswith((b"\r", b"\n")) else lines.pop()
        return lines
