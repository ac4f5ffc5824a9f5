"""What an approval has to get past, whatever the reviewer wrote. Pure: material and verdict in, objections out.

The reviewer may be mistaken or talked round, so each of its findings is looked up again here. What cannot be told from
words alone, such as what a note of the team means, is left to people; so is anything that is not in English.
"""

from collections.abc import Iterable, Iterator

from approvals.reviewer import evidence, words
from approvals.reviewer.material import Material
from approvals.reviewer.named import Named, read
from approvals.reviewer.verdict import QUESTIONS, Verdict
from tools import values

_OURS = ("the tool’s description", "a tool’s result")


def objections(verdict: Verdict, material: Material) -> list[str]:
    """Why code does not let an approval through, as sentences for the team. Empty: it may leave."""
    doubts = [f"It doubts that {QUESTIONS[name]}." for name, each in verdict.findings.items() if not each.holds]
    named = read(material)
    unfounded = [
        f"Its quote for “{QUESTIONS[name]}” does not stand where it must."
        for name, each in verdict.findings.items()
        if not _is_founded(name, words.squeezed(each.quote), material, named)
    ]
    return [*doubts, *standing(material), *unfounded]


def standing(material: Material) -> list[str]:
    """The objections that no finding and no quote can lift."""
    if not material.schema:
        return ["The tool changed after it was asked for."]
    named = read(material)
    return [
        *_circumstances(material, named),
        *_steering(material),
        *_consent(material, named),
        *_ownership(material, named),
    ]


def _circumstances(material: Material, named: Named) -> Iterator[str]:
    if not material.verified:
        yield "The customer is not verified."
    if material.notes:
        yield "There are notes of the team in this thread, which only people can weigh."
    if any(words.speaks_of_doing(text, tool=material.tool) for text in material.learned):
        yield "What was learned earlier speaks of this, which only people can weigh."
    if values.rows_of(material.input).exact != material.input:
        yield "The input holds characters that do not show, or that look like others."
    if any(named.is_repeated_in(earlier) for earlier in material.earlier):
        yield "The same was asked for before."
    if any(said.who == "team" and said.later for said in material.said):
        yield "A teammate has written since."


def _steering(material: Material) -> Iterator[str]:
    found = [where for where, text in material.from_outside() if words.steers(text, by_customer=where not in _OURS)]
    if not words.is_person(material.name):
        found.append("the customer’s name")
    if not words.is_address(material.email):
        found.append("the customer’s email")
    for where in dict.fromkeys(found):
        yield f"Something in {where} may be meant to steer."


def _consent(material: Material, named: Named) -> Iterator[str]:
    """The agent asked plainly for exactly this, and the customer answered with a plain yes."""
    asked = material.question
    question = words.closing_question(asked.text) if asked and asked.who == "agent" else None
    known = {*words.tokens(material.description), *named.words}
    offer = words.offer(question or "", tool=material.tool, covered=named.covered, known=known)
    if offer is None:
        yield "The agent did not plainly ask whether to do exactly this."
        return
    customer = [said.text for said in material.said if said.who == "customer"]
    yield from named.missing_from(offer, customer=customer)
    shown = {number for call in material.look_ups for number in words.numbers(call.result)}
    about = [call for name in named.names for call in evidence.shown(name, material)]
    if set(named.numbers) - evidence.amounts(about if named.names else material.look_ups):
        yield "The company’s own data do not show the amount."
    if named.numbers_in(offer) - shown - {number for text in customer for number in words.numbers(text)}:
        yield "The question names a number that nobody else has named."
    if not material.answer or not words.is_yes(material.answer[0]):
        yield "The customer has not said yes to the agent’s question."
    elif not all(words.is_plain(text, offer=offer) for text in material.answer):
        yield "The customer wrote more than a plain yes."
    if any(said.files for said in material.answers):
        yield "The customer sent a file with the answer, which only people can weigh."


def _ownership(material: Material, named: Named) -> Iterator[str]:
    """What the input names was shown by the company's own tools to this customer, and with nobody else in it."""
    for name in named.names:
        shown = evidence.shown(name, material)
        if not shown:
            yield f"The company’s own data have not shown “{name}” for this customer."
        if any(evidence.names_another(call, material) for call in shown):
            yield f"What the company’s data show for “{name}” names somebody else."


def _is_founded(name: str, quote: str, material: Material, named: Named) -> bool:
    """Whether a quote really stands in the part of the material where it must."""
    said = [entry.text for entry in material.said if entry.who != "team" and not entry.later]
    if name == "said_yes":
        return words.is_yes(quote) and _stands(quote, material.answer[:1])
    if name == "as_discussed":
        names_it = not named.names or any(words.names(quote, each) for each in named.names)
        return bool(quote) and names_it and _stands(quote, said)
    if name == "own_account" and named.names:
        shown = [
            text
            for each in named.names
            for call in evidence.shown(each, material)
            for text in (call.input, call.result)
        ]
        return bool(quote) and _stands(quote, shown)
    # That something is absent, or a fact which code knows itself, needs no quote; one that is given must be real.
    return not quote or _stands(quote, [*said, material.subject, *(text for _, text in material.from_outside())])


def _stands(quote: str, texts: Iterable[str]) -> bool:
    return any(quote in words.squeezed(text) for text in texts)
