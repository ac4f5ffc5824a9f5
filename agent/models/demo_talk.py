"""The demo model's talk that needs no tool: small talk, what only people can do, what it can do itself. Pure."""

import re
from collections.abc import Sequence

from agent.models.demo_phrases import phrase
from agent.models.demo_reading import Reading

ANYTHING_ELSE = "Is there anything else I can do?"
LEFT_ALONE = "All right{name}, I'll leave it as it is. " + ANYTHING_ELSE
NO_REFUNDS = "I can't refund orders here{name}. A teammate will step in."
GOODBYE = "All right{name}. Write here whenever you need something."

REPLACEMENT = re.compile(r"\breplace\w*\b|\bsend\b[^.?!]*\b(?:new|another) one\b", re.I)

# Said before anything else is understood: what only people can do.
FOR_PEOPLE = (
    (
        re.compile(r"\b(?:human|teammate|representative|real person|(?:talk|speak) (?:to|with) (?:a|some)\w*)\b", re.I),
        "Of course{name}. A teammate will step in here.",
    ),
    (
        re.compile(r"\bcancel\b[^.?!]*\border\b|\b(?:change|update|correct)\b[^.?!]*\baddress\b", re.I),
        "I can't change orders or addresses myself{name}. A teammate will step in here.",
    ),
    (REPLACEMENT, "I can't send a replacement myself{name}. A teammate will step in here to arrange it."),
)
# Said when nothing else is understood.
SMALL_TALK = (
    (
        re.compile(r"\b(?:any|some) news\b|\bany update|\bheard back\b|\bstill waiting\b", re.I),
        "I have no new answer yet{name}. As soon as there is one, you'll get it here.",
    ),
    (re.compile(r"^\W*(?:(?:no|nope|that's all)\b|(?:ok|okay|great|perfect|fine|all right)\W*$)", re.I), GOODBYE),
    (re.compile(r"\b(?:thanks|thank you|cheers)\b", re.I), "You're welcome{name}. " + ANYTHING_ELSE),
    (re.compile(r"^\W*(?:yes|yep|yeah|sure)(?:\W+please)?\W*$", re.I), "Gladly{name}. What would you like me to do?"),
)
ABOUT = re.compile(
    r"\bwhat can you do\b|\bwho are you\b|\bare you (?:a |an )?(?:ro)?(?:bot|human|real|person|ai)\b"
    r"|^\W*(?:(?:can you |please )?help(?: me)?|i need (?:some )?help)\W*$",
    re.I,
)
# Another script, or words that another language is full of.
FOREIGN = re.compile(
    r"[^\W\d_A-Za-z\u00aa-\u024f]|[¿¡]"
    r"|\b(?:hola|gracias|quiero|pedido|reembolso|quero|obrigad[oa]|bonjour|merci|voudrais|je|est|guten|wo|ist|ich|bitte"
    r"|danke|meine?|ciao|grazie|vorrei|ordine|hej|tack)\b",
    re.I,
)
ENGLISH_ONLY = "I'm sorry{name}, the demo model only understands English. A teammate can step in here."
GREETING = re.compile(r"^\W*(?:hi|hello|hey|good (?:morning|day|afternoon|evening))\b[^?]{0,20}$", re.I)


def for_people(reading: Reading) -> str | None:
    """What to say when the customer wants what only people can do."""
    return _first_of(FOR_PEOPLE, reading)


def small_talk(reading: Reading, *, abilities: Sequence[str]) -> str:
    """What to say when no tool is meant; `abilities` follow "I can"."""
    said = _first_of(SMALL_TALK, reading)
    if said is not None:
        return said
    if FOREIGN.search(reading.text):
        return phrase(ENGLISH_ONLY, name=reading.first_name)
    can = " and ".join([", ".join(abilities[:-1]), abilities[-1]] if len(abilities) > 1 else abilities)
    offer = f"I can {can}. " if can else ""
    start = phrase("I'm the demo model{name}, so I can't answer that. ", name=reading.first_name)
    if GREETING.search(reading.text):
        hello = f"Hi {reading.first_name}" if reading.first_name else "Hi"
        start = f"{hello}, I'm {reading.own_name or 'the demo model'}. How can I help? "
    elif ABOUT.search(reading.text):
        start = f"I'm {reading.own_name or 'an assistant'}, and the demo model answers for me. "
    return f"{start}{offer}For anything else, a teammate can step in."


def _first_of(rows: Sequence[tuple[re.Pattern[str], str]], reading: Reading) -> str | None:
    return next((phrase(said, name=reading.first_name) for words, said in rows if words.search(reading.text)), None)
