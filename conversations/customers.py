"""Customers by who they are: the company's own id for one that it vouches for, an opaque id of ours for any other."""

from conversations.models import Customer
from median_site.lib import text


def known(workspace_id: str, *, subject: str, verified: bool, name: str = "", email: str = "") -> Customer:
    """The customer's row, made when they are new. A name or email that came is kept; a missing one changes nothing."""
    claims = {"name": _storable(name, 150), "email": _storable(email, 254)}
    customer, _ = Customer.objects.get_or_create(
        workspace_id=workspace_id, verified=verified, subject=subject, defaults=claims
    )
    changed = [field for field, said in claims.items() if said and getattr(customer, field) != said]
    if changed:
        for field in changed:
            setattr(customer, field, claims[field])
        customer.save(update_fields=changed)
    return customer


def _storable(claim: str, length: int) -> str:
    return text.clean(claim)[0].strip()[:length]
