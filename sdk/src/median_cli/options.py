"""Options that several commands take."""

from typing import Annotated

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a program.")]
Limit = Annotated[int, typer.Option(min=1, help="How many of the newest.")]
