"""`median completion`: the script with which a shell completes commands and options."""

from typing import Annotated, Literal

import typer
from typer.completion import shell_complete

Shell = Literal["bash", "zsh", "fish", "powershell"]


def completion(
    context: typer.Context, shell: Annotated[Shell, typer.Argument(help="The shell that is to complete.")]
) -> None:
    """Print the script that makes a shell complete commands and options.

    A line in ~/.bashrc or ~/.zshrc loads it; fish reads it from ~/.config/fish/completions/median.fish.
    """
    median = context.find_root().command
    raise typer.Exit(shell_complete(median, {}, "median", "_MEDIAN_COMPLETE", f"source_{shell}"))
