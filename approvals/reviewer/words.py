"""What code can tell from words alone: a plain yes, a plain question, an attempt to steer. Pure, and English only.

A yes and its question are matched against words that may stand in them, not against words that may not: whatever is
not known to be harmless is left to people.
"""

import re
import unicodedata
from collections.abc import Iterable
from decimal import Decimal
from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NAME_PART: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_TOKEN: Final = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")
_NUMBER: Final = re.compile(r"\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?")
_STRANGE: Final = re.compile(r"[^\w\s.,!'\"():;$€£*\-👍🙏😊🙂]")

_YES: Final = re.compile(
    r"(?:(?:hi|hello|hey|great|perfect|thanks|thank you|oh|ah|ok|okay)\b\W+)*"
    r"(?:yes|yep|yeah|yup|sure|ok|okay|please|go ahead|do it|correct|confirmed|i confirm|absolutely|of course"
    r"|that is (?:right|correct)|exactly|agreed|definitely|certainly|sounds good)\b",
    re.IGNORECASE,
)
_PHRASES: Final = re.compile(
    r"\b(?:thank you|go ahead|of course|sounds (?:good|great|perfect)|as soon as possible|have a nice day"
    r"|(?:so|very) (?:much|kind)|kind of you|that works|(?:please )?do (?:it|that|so)(?: now)?|please do"
    r"|i (?:confirm|agree)"
    r"|that(?: is|'s) (?:right|correct|fine|good|great|perfect|ok|okay|lovely|wonderful|very kind(?: of you)?)"
    r"|that(?: would|'d) be (?:fine|good|great|perfect|lovely|wonderful|awesome|very kind)"
    r"|i(?: would|'d) (?:appreciate|like) (?:it|that)|is correct)\b"
)
# No verb that could say how things are: "it works now" and "I'm good" begin with an okay, too, and want nothing.
_COURTESY: Final = _words(
    "absolutely agreed ah and appreciated asap awesome certainly confirmed correct course definitely exactly fine for"
    " great happy hello hey hi kind lovely me much oh ok okay perfect please proceed super sure thank thanks that the"
    " this today very wonderful yeah yep yes yup"
)
# Words of the agent's question with which a customer can also say that it was done, or that it need not be.
_NOT_ECHOED: Final = _words("and arrived as because came do i is it paid please reason right that was with you")
# What may stand in the agent's question beside the action, its values and the words of the tool's own description.
_PLAIN: Final = _words(
    "a account an and arrived as back because came card completely do for full i in is it number of on order original"
    " paid payment please reason right that the this to today was with you your"
)
# Whatever makes a question one that a yes does not answer plainly, even where the description has the word too.
_TURNING: Final = _words(
    "alternatively but cannot either else except half if instead less no nor not only or other otherwise part partial"
    " partially rather some than unless until without"
)
# Parts of a tool's name that nobody says to a customer.
_UNSAID: Final = _words("a an and basic by customer for in my of on quick simple small standard the to user with")
_OPENING: Final = (
    r"(?:^|[,:;–—]\s*)(?:shall i|should i|may i|do you want me to|would you like me to|do you confirm that i should"
    r"|can you confirm that i should)\s+(?:now |then |go ahead and )?"
)

_STEERING: Final = re.compile(
    "|".join(
        (
            r"\b(?:ignore|forget|disregard|override|bypass|skip)\w*\b.{0,40}\b(?:instruction|rule|previous|prior|above|polic"
            r"|everything|check|review|note|limit|system|safe)",
            r"\b(?:system|developer|assistant|moderator|admin|administrator|root|support|staff|team)\s*"
            r"(?:prompt|message|note|mode|override|:|\])",
            r"\breviewer\b|\bverdict\b|\bescalat|\bjailbreak|\bprompt\b|\blanguage model\b|\bllm\b|\bchatbot\b",
            r"\bapprov\w*\s+(?:it|this|that|the|all|every|any|always|now|immediately|by default|automatically)\b",
            r"\b(?:must|should|always|may|can)\s+(?:be\s+)?approve",
            r"\byou\s+(?:are|must|will|have to|need to)\s+(?:now|an?|the|always|approve|say|act|answer|return|output"
            r"|call|run|treat|reply|respond|allow|obey)\b",
            r"\b(?:customer|user|client|visitor|owner|he|she|they)\s+(?:has\s+|have\s+)?(?:already\s+)?(?:said|says|say"
            r"|confirm|agree|consent|authori[sz]|approv)",
            r"\b(?:already|pre)[ -]?(?:authori[sz]|clear|confirm|verif|approv)",
            r"<\||\[/?inst\]|<<|>>|```|</?[a-z]\w*[ >]|\{\{|\{%|\bbegin (?:data|system)|\bend (?:of )?data",
            r"\b(?:without|no) (?:asking|checking|review|further|confirmation|questions)",
            r"\b(?:let|wave|push|put) (?:it|this|that|them|everything|anything) through\b|\bsign(?:ed|s)?[ -]?off\b",
            r"\bon sight\b|\bsay yes\b|\bgrant (?:any|all|every|whatever|it|this|that|the|her|him|them)\b",
            r"\bagents?\s*:|\b(?:to|for|attention|dear) (?:all |the )?(?:agents?|models?|ai|bots?|assistants?)\b",
            r"\b(?:whoever|anyone who|those who) (?:checks?|reads?|reviews?|sees?|handles?|decides?)\b",
        )
    ),
    re.IGNORECASE,
)
# A customer has no reason to speak of these to an agent that serves them; whoever does is answered by people.
_OUT_OF_PLACE: Final = re.compile(
    r"\bapprov|\bauthori[sz]|\bon behalf of\b|\binstructions?\b|\btesting\b|\b(?:a|this is a|just a) test\b"
    r"|\btest (?:you|run)"
    r"|\bthe (?:ai|bot|model|agent)\b|\ban ai\b|\bpretend|\brole-?play|\bfraud|\bstolen\b|\bhack|\bchargeback|\blawyer"
    r"|\b(?:his|her|their|else's|friend's|wife's|husband's|mother's|father's|sister's|brother's|boss's|neighbou?r's"
    r"|colleague's|partner's|son's|daughter's)\s+(?:\w+\s+)?(?:account|order|subscription|plan|refund|invoice)\b"
    r"|\bnot my (?:own )?(?:account|order)|\b(?:for|of) (?:a|my) (?:friend|neighbou?r|colleague)\b",
    re.IGNORECASE,
)
_PERSON: Final = re.compile(r"[^\W\d_][\w.,'’-]{0,39}(?: [\w.,'’-]{1,40}){0,3}")
_ADDRESS: Final = re.compile(r"[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+")
_JOINERS: Final = frozenset("\u200c\u200d\ufe0e\ufe0f\n\t\r")


def squeezed(text: str) -> str:
    """The text with every run of white space as one space: the only liberty that a quote may take."""
    return " ".join(text.split())


def tokens(text: str) -> list[str]:
    """The words and numbers of a text in lower case; typographic apostrophes are plain ones."""
    return _TOKEN.findall(text.replace("’", "'").lower())


def numbers(text: str) -> set[Decimal]:
    """Every number that stands in a text by itself or in money, 1,200.50 as 1200.5. No digit is rounded away."""
    return {Decimal(found.replace(",", "")) for found in _NUMBER.findall(text)}


def parts_of(name: str) -> list[str]:
    """A tool's or a field's name in words, lower case: refundSmallOrder is refund, small, order."""
    return [part.lower() for part in _NAME_PART.findall(name)]


def speaks_of_doing(text: str, *, tool: str) -> bool:
    """Whether a text has the tool's verb in it: of refundOrder refund, refunds, refunded."""
    verb = next(iter(parts_of(tool)), "")
    return bool(verb) and re.search(rf"\b{re.escape(verb)}", text, re.IGNORECASE) is not None


def names(text: str, value: str) -> bool:
    """Whether a value stands in a text as a whole: ORD-104 does not stand in ORD-1042, nor in ORD-104/2."""
    whole = rf"(?<![\w-])(?<!\w[./#:]){re.escape(squeezed(value))}(?![\w-]|[./#:]\w)"
    return re.search(whole, squeezed(text), re.IGNORECASE) is not None


def is_yes(text: str) -> bool:
    """Begins with a yes."""
    return _YES.match(text.strip().replace("’", "'").replace("hat's", "hat is")) is not None


def is_plain(text: str, *, offer: str) -> bool:
    """Nothing in it but courtesy and words of the offer: no condition, no other wish, no other number."""
    words = _PHRASES.sub(" ", text.replace("’", "'").lower())
    echoed = set(tokens(offer)) - _NOT_ECHOED
    return bool(text.strip()) and not _STRANGE.search(words) and set(tokens(words)) <= _COURTESY | echoed


def closing_question(text: str) -> str | None:
    """The sentence that a message ends with, when it is the message's only question."""
    stripped = text.rstrip(" \n*_")
    if not stripped.endswith("?") or stripped.count("?") > 1:
        return None
    return re.split(r"(?<=[.!])\s+|\n", stripped)[-1].strip()


def offer(question: str, *, tool: str, covered: Iterable[str], known: Iterable[str]) -> str | None:
    """What a question plainly offers: "Shall I", then the tool's verb, its object, and nothing else. None otherwise.

    `covered` are words of the tool's name that a value stands for; `known` those that may stand in it besides.
    """
    verb, *rest = parts_of(tool) or [""]
    plain = question.replace("’", "'")
    opening = re.search(rf"{_OPENING}(?={re.escape(verb)}\b)", plain, re.IGNORECASE)
    if not opening or not verb:
        return None
    said = set(tokens(plain[opening.end() :]))
    strange = {word for word in said if not word.isdigit()} - _PLAIN - set(known) - set(parts_of(tool))
    needed = set(rest) - _UNSAID - set(covered)
    is_whole = all(said & {word, f"{word}s", f"{word}es"} for word in needed)
    turns = said & _TURNING or set(tokens(plain[: opening.end()])) & _TURNING
    return None if strange or turns or not is_whole else plain[opening.end() :]


def steers(text: str, *, by_customer: bool) -> bool:
    """Whether a text reads like an attempt to steer, or hides characters. What a customer wrote is held to more."""
    if any(unicodedata.category(each) in {"Cf", "Cc", "Co", "Cs"} and each not in _JOINERS for each in text):
        return True
    shown = squeezed(unicodedata.normalize("NFKC", text)).replace("’", "'")
    return bool(_STEERING.search(shown) or (by_customer and _OUT_OF_PLACE.search(shown)))


def is_person(name: str) -> bool:
    """Looks like a name and nothing more."""
    return not name or _PERSON.fullmatch(name) is not None


def is_address(email: str) -> bool:
    return not email or _ADDRESS.fullmatch(email) is not None


def addresses(text: str) -> set[str]:
    """Every email address in a text, lower case."""
    return {found.lower() for found in _ADDRESS.findall(text)}
