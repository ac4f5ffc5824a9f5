"""What every request under /v1/ passes: the key, the rate limit, the Idempotency-Key, and the one shape of an error."""

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.utils.decorators import sync_only_middleware
from ninja.errors import HttpError, ValidationError

from median_site.lib import strict_json
from median_site.lib.actors import Actor, ActorKind
from median_site.lib.errors import DomainError
from median_site.lib.strict_json import JsonError
from team import api_answers, api_keys, api_limits
from team.api_limits import Allowance, RateLimited
from team.models import ApiKey

PREFIX: Final = "/v1/"
OPEN: Final = ("/v1/openapi.json", "/v1/docs")
SAFE: Final = ("GET", "HEAD", "OPTIONS")
# Here alone a body may be a file. The limit is for a form around one; the file has its own.
UPLOADS: Final = re.compile(r"/v1/conversations/[^/]+/attachments")
UPLOAD_LIMIT: Final = 11 * 1024**2


class KeyRequest(HttpRequest):
    """A request that came with a key which is known and has the scope that was asked for."""

    key: ApiKey

    @property
    def by(self) -> Actor:
        return actor(self.key)


def actor(key: ApiKey) -> Actor:
    """Who acts when a key does: the log names the key, endpoints read "the API"."""
    return Actor(ActorKind.API, key.workspace_id, id=key.id, name=key.name)


@sync_only_middleware
def api_gate(get_response: Callable[[HttpRequest], HttpResponseBase]) -> Callable[[HttpRequest], HttpResponseBase]:
    """Limits and repeats, for requests under /v1/; any other passes untouched."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        if not request.path.startswith(PREFIX) or request.path in OPEN:
            return get_response(request)
        try:
            writes = request.method not in SAFE
            key, allowance = api_limits.admit(request.headers.get("Authorization", ""), writes=writes)
        except DomainError as error:
            return error_response(error)
        if refused := _too_large(request) or _with_nul(request):
            return error_response(refused)
        request.key = key  # type: ignore[attr-defined]  # KeyRequest, from here on
        response = _limited(request, key, allowance, get_response)
        if response.status_code == 405:
            allowed = response.headers.get("Allow", "")
            response = error_response(DomainError("That cannot be done here.", code="method_not_allowed", status=405))
            response.headers["Allow"] = allowed
        for name, value in allowance.headers().items():
            response.headers[name] = value
        return response

    return middleware


def _limited(
    request: HttpRequest, key: ApiKey, allowance: Allowance, get_response: Callable[[HttpRequest], HttpResponseBase]
) -> HttpResponseBase:
    header = request.headers.get("Idempotency-Key")
    try:
        if allowance.is_used_up:
            raise RateLimited
        if request.method != "POST" or header is None:
            return get_response(request)
        kept = api_answers.begin(key, header=header, method="POST", path=request.get_full_path(), body=_sent(request))
    except DomainError as error:
        return error_response(error)
    if kept.status is not None:
        repeated = HttpResponse(kept.body, status=kept.status, content_type="application/json")
        repeated.headers["Idempotent-Replayed"] = "true"
        return repeated
    response = get_response(request)
    body = response.content.decode() if isinstance(response, HttpResponse) else ""
    api_answers.finish(kept, status=response.status_code, body=body)
    return response


def _too_large(request: HttpRequest) -> DomainError | None:
    too_large = DomainError("The body is larger than is read here.", code="too_large", status=413)
    if _is_upload(request):
        length = request.headers.get("Content-Length", "")
        return None if length.isdecimal() and int(length) <= UPLOAD_LIMIT else too_large
    try:
        request.body  # noqa: B018  # reads it, up to the installation's limit
    except RequestDataTooBig:
        return too_large
    return None


def _with_nul(request: HttpRequest) -> DomainError | None:
    """No row's text holds a NUL, and the database takes none in a question either."""
    for name, values in request.GET.lists():
        if any("\0" in text for text in (name, *values)):
            field = strict_json.visible(name)[0][:100]
            return DomainError(f"{field}: It holds a NUL character.", code="invalid", status=422, field=field)
    return None


def _is_upload(request: HttpRequest) -> bool:
    is_form = request.method == "POST" and request.content_type == "multipart/form-data"
    return is_form and bool(UPLOADS.fullmatch(request.path))


def _sent(request: HttpRequest) -> bytes:
    """What tells a request from others. A form's own marks differ each time it is sent: its files stand for it."""
    if not _is_upload(request):
        return request.body
    parts: list[str] = []
    for field, files in request.FILES.lists():
        for each in files:
            parts.append(f"{field}\n{each.name}\n{hashlib.file_digest(each, 'sha256').hexdigest()}")
            each.seek(0)
    return "\n".join(parts).encode(errors="replace")


@dataclass(frozen=True, slots=True)
class Scope:
    """Ninja's `auth` for an operation: the key must have this scope."""

    name: str

    def __call__(self, request: HttpRequest) -> ApiKey:
        key: ApiKey = request.key  # type: ignore[attr-defined]  # api_gate has set it
        api_keys.require_scope(key, self.name)
        return key


def answer(body: object, *, status: int = 200) -> HttpResponse:
    """An answer of one of the shapes, written as the API writes JSON."""
    text = strict_json.dumps(body)  # type: ignore[arg-type]  # the shapes are JSON
    return HttpResponse(text, status=status, content_type="application/json")


def error_response(error: DomainError) -> JsonResponse:
    """The one shape: {"error": {"code", "message", "field"}}."""
    response = JsonResponse(error.as_json(), status=error.status)
    if error.status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    return response


def invalid(error: ValidationError) -> DomainError:
    """The first thing that is wrong with a request, by the name of its field."""
    fault = error.errors[0]
    # A body's fields stand below the name that the operation gives the body.
    where = fault["loc"][2:] if fault["loc"][0] == "body" else fault["loc"][1:]
    field = ".".join(map(str, where))[:100]
    message = f"{field or 'The body'}: {str(fault['msg']).rstrip('.')}."
    return DomainError(strict_json.visible(message)[0], code="invalid", status=422, field=field or None)


def plain(error: HttpError) -> DomainError:
    """Ninja's own refusals; of a body that is no JSON, where it is not."""
    if isinstance(broken := error.__cause__, JsonError):
        field = broken.path.strip("/").replace("/", ".")[:100] or None
        said = strict_json.visible(f"The body is not JSON: {broken}")[0]
        return DomainError(said, code="not_json", status=400, field=field)
    return DomainError(str(error), code="invalid", status=error.status_code)
