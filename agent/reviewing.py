"""A language model as the reviewer of parked calls: approvals.reviewer says what it reads, this asks it."""

from typing import Final

from agent.models.base import Message, Model, ModelError, Picture
from approvals.reviewer import prompt
from approvals.reviewer.demo import DemoReviewer
from approvals.reviewer.material import Material
from approvals.reviewer.model import NoAnswer, Reviewer
from conversations import attachments
from conversations.pictures import READING_TYPE
from median_site.lib.db import in_thread

# Most models need seconds; the rest of the five minutes is for asking once more.
ONE_ANSWER_S: Final = 140.0


class ModelReviewer:
    """Asks one model, without tools."""

    def __init__(self, model: Model) -> None:
        self.name = model.name
        self._model = model

    async def read(self, material: Material, *, wrong: str, deadline_s: float) -> str:
        """See `Reviewer.read`."""
        task, parts = prompt.messages(material, wrong=wrong)
        ids = [file.id for file in material.pictures]
        seen = await in_thread(attachments.readings, ids) if ids else {}
        pictures = tuple(Picture(READING_TYPE, seen[id]) for id in ids)
        messages = [Message("system", task), Message("user", parts, pictures=pictures)]
        try:
            answer = await self._model.complete(messages, tools=(), deadline_s=min(deadline_s, ONE_ANSWER_S))
        except ModelError as error:
            raise NoAnswer(error.message, timed_out=error.code == "timeout") from error
        return answer.text


def reviewer_of(model: Model) -> Reviewer:
    """The reviewer that a model makes; the demo model's is the demo reviewer."""
    return DemoReviewer() if model.is_demo else ModelReviewer(model)
