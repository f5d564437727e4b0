"""The rules by which a text is refused, in order. Each has an id, which is all that a refusal tells."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from memory.facts.gate.addresses import holds_home_address
from memory.facts.gate.identifiers.accounts import holds_iban
from memory.facts.gate.identifiers.documents import holds_document_number
from memory.facts.gate.identifiers.emails import holds_email
from memory.facts.gate.identifiers.handles import holds_handle
from memory.facts.gate.identifiers.numbers import holds_long_number
from memory.facts.gate.identifiers.phones import holds_phone_number
from memory.facts.gate.normalisation import ScannedText, scanned
from memory.facts.gate.secrets import holds_credential, holds_key, holds_random_token


@dataclass(frozen=True)
class IdentifierRule:
    """Something that long-term memory does not hold."""

    rule_id: str
    found_in: Callable[[ScannedText], bool]


BUILT_IN_RULES: tuple[IdentifierRule, ...] = (
    IdentifierRule("identifier-iban", holds_iban),
    IdentifierRule("identifier-number", holds_long_number),
    IdentifierRule("identifier-email", holds_email),
    IdentifierRule("identifier-phone", holds_phone_number),
    IdentifierRule("identifier-document", holds_document_number),
    IdentifierRule("identifier-handle", holds_handle),
    IdentifierRule("secret-key", holds_key),
    IdentifierRule("secret-credential", holds_credential),
    IdentifierRule("secret-token", holds_random_token),
    IdentifierRule("address-home", holds_home_address),
)


def find_identifier(text: str, rules: Sequence[IdentifierRule], about: str = "") -> str | None:
    """The id of the first rule that refuses the text, for any one-line text. `about` says what the text is about
    (the words of a fact's key), which some rules need: 「5550123」 alone is a number, under `phone_number` a phone.

    Time is linear in the length of the text.
    """
    copy = scanned(text, about)
    return next((rule.rule_id for rule in rules if rule.found_in(copy)), None)
