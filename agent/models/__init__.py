"""Language models, all behind one Protocol. Nothing else of the installation sends a request to a model.

Django looks for an app's tables in its `models`, so this package also names the rows of agent.rows.
"""

from agent.models.base import Model
from agent.models.demo import DemoModel
from agent.models.openai import OpenAIModel
from agent.rows import AssistantExchange, Errand, Step, Turn

__all__ = ["AssistantExchange", "DemoModel", "Errand", "Model", "OpenAIModel", "Step", "Turn", "from_settings"]


def from_settings(url: str, *, key: str, name: str) -> Model:
    """The model that an installation's settings name; the demo model when `url` is empty.

    Raises ValueError, without the key in it, for settings that could never work.
    """
    return OpenAIModel(url, key=key, name=name) if url else DemoModel()
