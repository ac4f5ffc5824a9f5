"""What can go wrong, each with its exit code: 1 refused or failed, 2 usage, 3 sign-in, 4 network."""


class Failed(Exception):
    """Ends the command with this sentence on standard error."""

    code = 1


class Usage(Failed):
    code = 2


class SignIn(Failed):
    code = 3


class Network(Failed):
    code = 4
