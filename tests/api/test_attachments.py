"""Files through the API: sent up, named in a message or note, read back; and what a repeated upload does."""

from collections.abc import Callable
from io import BytesIO

from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client
from PIL import Image

from conversations import attachments
from conversations.models import Attachment, Channel, Item
from median_site.api.app import api
from tests import files
from tests.api.conftest import Program
from tests.world import World


def up(program: Program, world: World, data: bytes, name: str = "lid.png", **headers: str) -> HttpResponse:
    client = Client(headers={"Authorization": f"Bearer {program.key}", **headers})
    path = f"/v1/conversations/{world.conversation.id}/attachments"
    return client.post(path, {"file": SimpleUploadedFile(name, data)})


def test_a_file_is_sent_up_named_in_a_message_and_read_back(world: World, program: Program) -> None:
    world.conversation.channel = Channel.API
    world.conversation.save(update_fields=["channel"])
    answer = up(program, world, files.png(1000, 500))
    assert answer.status_code == 201
    sent = answer.json()
    assert (sent["name"], sent["content_type"], sent["width"], sent["height"]) == ("lid.png", "image/png", 1000, 500)
    path = f"/conversations/{world.conversation.id}"
    message = {"client_id": "message-1", "attachments": [sent["id"]]}
    shown = program.post(f"{path}/messages", message).json()
    assert (shown["kind"], shown["text"], shown["attachments"]) == ("customer", None, [sent])
    assert program.get(f"{path}/items").json()["data"][-1]["attachments"] == [sent]
    read = program.get(f"{path}/attachments/{sent['id']}")
    assert (read.headers["Content-Type"], Image.open(BytesIO(read.content)).size) == ("image/png", (1000, 500))

    note = up(program, world, b"%PDF-1", "log.pdf").json()
    assert program.post(f"{path}/notes", {"attachments": [note["id"]]}).json()["attachments"] == [note]
    assert program.post(f"{path}/notes", {"attachments": [note["id"]]}).json()["error"]["code"] == "file_gone"
    assert program.get(f"{path}/attachments/{note['id']}").headers["Content-Type"] == "application/octet-stream"


def test_what_the_api_refuses_of_files(world: World, program: Program, program_with: Callable[..., Program]) -> None:
    for data, status, code in (
        (b"x" * attachments.SIZE_LIMIT, 201, None),
        (b"x" * (attachments.SIZE_LIMIT + 1), 422, "file_too_large"),
        (b"x" * (11 * 1024**2), 413, "too_large"),
        (files.huge_png(), 422, "picture_too_large"),
    ):
        answer = up(program, world, data, "film.mov")
        assert (answer.status_code, answer.json().get("error", {}).get("code")) == (status, code)
    path = f"/conversations/{world.conversation.id}"
    assert program.post(f"{path}/attachments", {}).json()["error"]["field"] == "file"
    six = {"text": "Hi", "attachments": [f"file{n}" for n in range(6)]}
    assert program.post(f"{path}/notes", six).json()["error"]["field"] == "attachments"
    nul = program.post(f"{path}/notes", {"attachments": ["\0"]})
    assert (nul.status_code, nul.json()["error"]["code"], nul.json()["error"]["field"]) == (
        422,
        "invalid",
        "attachments.0",
    )
    assert program.post(f"{path}/notes", {}).json()["error"]["code"] == "empty"

    mine = Attachment.objects.get()
    assert up(program_with("read"), world, b"x").status_code == 403
    assert program_with("decide").get(f"{path}/attachments/{mine.id}").status_code == 403
    assert up(program_with("run", elsewhere=True), world, b"x").status_code == 404
    for other in (program_with("read", elsewhere=True), program_with("read")):  # not sent yet, and not its own
        assert other.get(f"{path}/attachments/{mine.id}").status_code == 404
    assert not Item.objects.exists()


def test_the_same_file_sent_again_under_the_same_key_is_one_file(world: World, program: Program) -> None:
    once = {"Idempotency-Key": "a"}
    first, again = (up(program, world, files.png(), **once) for _ in range(2))
    assert again.content == first.content
    assert again.headers["Idempotent-Replayed"] == "true"
    for data, name in ((files.png(10, 10), "lid.png"), (files.png(), "other.png")):
        assert up(program, world, data, name, **once).json()["error"]["code"] == "idempotency_key_reused"
    assert Attachment.objects.count() == 1


def test_the_description_tells_of_uploads() -> None:
    described = api.get_openapi_schema()["paths"]
    uploads = described["/v1/conversations/{conversation_id}/attachments"]["post"]
    assert list(uploads["requestBody"]["content"]) == ["multipart/form-data"]
