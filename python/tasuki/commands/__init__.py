"""The commands of `tasuki`, one module each: `register(app)` adds the command to the command line."""


class Refusal(Exception):
    """What the user gave cannot be used; the text says what it was, its value, and what was expected."""
