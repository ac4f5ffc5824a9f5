"""Files of the composer: sent up one by one as they are chosen, or, without a script, with the form itself."""

from typing import Final

from django.core.files.uploadedfile import UploadedFile
from django.http import JsonResponse
from django.views.decorators.http import require_POST

from conversations import access, attachment_links, attachments
from conversations.models import Attachment, Conversation
from team.access import TeammateRequest, teammate_required

# For the page's script, which says at once what would be refused here.
LIMITS: Final = {"files_most": attachments.IN_A_MESSAGE, "files_limit": attachments.SIZE_LIMIT}


@require_POST
@teammate_required
def upload(request: TeammateRequest, conversation_id: str) -> JsonResponse:
    """Take one file in, `file`; it is sent with the reply or note that names its id."""
    conversation = access.conversation(request.teammate.actor, conversation_id)
    given = request.FILES.get("file")
    if not isinstance(given, UploadedFile):
        raise attachments.FileRefused("Choose a file first.")
    row = _stored(request, conversation, given)
    return JsonResponse(attachment_links.for_team(row.file).as_json(), status=201)


def files_of(request: TeammateRequest, conversation_id: str) -> list[str]:
    """The ids of the files that a reply or note brings. Raises NotFound, FileRefused."""
    ids, given = request.POST.getlist("file"), request.FILES.getlist("files")
    if len(ids) + len(given) > attachments.IN_A_MESSAGE:
        raise attachments.TooManyFiles
    if not given:
        return ids
    conversation = access.conversation(request.teammate.actor, conversation_id)
    return ids + [_stored(request, conversation, each).id for each in given]


def _stored(request: TeammateRequest, conversation: Conversation, given: UploadedFile) -> Attachment:
    data = given.read(attachments.SIZE_LIMIT + 1)
    return attachments.store(conversation, name=given.name or "", data=data, by=request.teammate.actor)
