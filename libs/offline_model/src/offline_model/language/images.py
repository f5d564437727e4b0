"""What a user says is to be seen in an image; nobody here looks at one."""

import re

_SEEN = re.compile(
    r"(?:图|照|截图)片?(?:里|中|上)(?:的)?(?:是|有)(?:一|1)?(?:个|款|双|件|条|只|张)?(?P<zh>[^，。,.！!？?\n]{2,20})|"
    r"\b(?:photo|picture|image|screenshot) (?:shows|of|is|has) (?:an? |the |"
    r"some )?(?P<en>[a-z][a-z -]{2,40}?)(?=[,.!?\n]|$| and\b| but\b)",
    re.IGNORECASE,
)


def seen_in_image(words: str) -> str | None:
    found = _SEEN.search(words)
    return (found["zh"] or found["en"]).strip() if found else None
