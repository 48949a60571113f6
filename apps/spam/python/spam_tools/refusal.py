"""What is wrong with what the user asked for."""


class Refusal(Exception):
    """One line for standard error; the exit status is 2."""
