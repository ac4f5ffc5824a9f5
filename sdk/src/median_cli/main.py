"""The commands, put together. Exit codes: 0 done, 1 refused or failed, 2 usage, 3 sign-in, 4 network."""

import os
import sys
from io import TextIOWrapper
from typing import Annotated

import typer

from median_cli import api, completion, config, conversations, logs, show, tools, verify
from median_cli.failures import Failed, Usage

app = typer.Typer(
    name="median",
    help="Median from the command line: tools, requests, conversations and the log of one workspace.",
    epilog="Exit codes: 0 done, 1 refused or failed, 2 usage, 3 sign-in, 4 network. MEDIAN_URL and MEDIAN_API_KEY win "
    "over what login kept.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.add_typer(tools.app, name="tools")
app.add_typer(conversations.app, name="conversations")
app.command("logs", epilog="Example: median logs --type tools --follow")(logs.logs)
app.command("verify-log", epilog="Example: median verify-log --file log.jsonl --head 5f0c…")(verify.verify_log)
app.command("completion", epilog='Example: eval "$(median completion zsh)"')(completion.completion)


@app.command(epilog="Example: median login --url https://median.example.com")
def login(
    url: Annotated[str, typer.Option(prompt="Address of the installation", help="As in https://median.example.com")],
    key: Annotated[
        str,
        typer.Option(prompt="API key", hide_input=True, help="Safer at the prompt than here."),
    ],
) -> None:
    """Check a key and keep it for the next commands."""
    chosen = config.Login(url.strip().rstrip("/"), key.strip())
    with api.Api(chosen) as session:
        session.get("/tools")
    show.line(f"Signed in. The key is kept in {config.write(chosen)}.")


def main() -> None:
    """The program `median`."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # what the terminal's charset lacks
    try:
        app()
    except Failed as failure:
        show.error(str(failure))
        sys.exit(failure.code)
    except UnicodeEncodeError:
        show.error("What was given holds bytes that are no text in UTF-8.")
        sys.exit(Usage.code)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:  # whoever read the output has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


if __name__ == "__main__":
    main()
