"""The one error a policy directory can raise: a line that names the file, the fault and the remedy."""


class PolicyError(ValueError):
    """A checkpoint directory or configuration this package cannot use."""
