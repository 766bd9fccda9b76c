"""The step size over a run."""

import optax


def rise_and_fall(top: float, rising: int, updates: int, share: float) -> optax.Schedule:
    """From 0 to `top` over the first `rising` of so many updates, then in a line to `share` of it."""
    rise = optax.linear_schedule(0.0, top, rising)
    fall = optax.linear_schedule(top, top * share, max(updates - rising, 1))
    return optax.join_schedules([rise, fall], [rising])
