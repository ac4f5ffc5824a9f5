"""How a workspace begins: the operator of the installation makes it, and its first owner joins with a link."""

from django.core.exceptions import ValidationError
from django.db import transaction

from median_site.lib import actors
from median_site.lib.errors import DomainError, Unusable
from team import invitations
from team.models import Role, Teammate, Workspace


class Taken(DomainError):
    code = "workspace_taken"
    message = "Somebody is in this workspace already: its owners invite from Settings > Team."


def begin(slug: str, *, name: str, owner: str) -> str:
    """The token of the link with which `owner`, an email address, joins a workspace that is new or still empty.

    Raises Unusable naming the field, and Taken.
    """
    wanted = Workspace(slug=slug, name=name)
    try:
        wanted.clean_fields()
    except ValidationError as error:
        field, messages = next(iter(error.message_dict.items()))
        raise Unusable(f"{field}: {' '.join(messages)}", field=field) from error
    with transaction.atomic():
        workspace, _ = Workspace.objects.get_or_create(slug=slug, defaults={"name": name})
        if Teammate.objects.filter(workspace=workspace).exists():
            raise Taken
        _, token = invitations.make_unasked(by=actors.system(workspace.id), email=owner, role=Role.OWNER)
    return token
