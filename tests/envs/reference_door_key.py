"""MiniGrid's DoorKey rules in plain Python, with a ball, and breadth-first search over all of a state."""

from collections import deque
from dataclasses import dataclass, replace

Cell = tuple[int, int]
STEPS = ((0, 1), (1, 0), (0, -1), (-1, 0))
LEFT, RIGHT, FORWARD, PICKUP, DROP, TOGGLE = range(6)
OPEN, CLOSED, LOCKED = range(3)


@dataclass(frozen=True)
class State:
    agent: Cell
    heading: int
    hand: str  # "", "key" or "ball"
    key: Cell | None  # None in the hand
    ball: Cell | None  # None in the hand, or where there is none
    door: Cell
    lock: int
    side: int

    def at_goal(self) -> bool:
        return self.agent == (self.side - 2, self.side - 2)

    def is_wall(self, cell: Cell) -> bool:
        on_rim = min(cell) == 0 or max(cell) == self.side - 1
        return on_rim or (cell[1] == self.door[1] and cell != self.door)

    def ahead(self) -> Cell:
        return self.agent[0] + STEPS[self.heading][0], self.agent[1] + STEPS[self.heading][1]

    def act(self, action: int) -> "State":
        ahead = self.ahead()
        shut = ahead == self.door and self.lock != OPEN
        lies = ahead in (self.key, self.ball)
        if action == LEFT:
            return replace(self, heading=(self.heading - 1) % 4)
        if action == RIGHT:
            return replace(self, heading=(self.heading + 1) % 4)
        if action == FORWARD and not (self.is_wall(ahead) or shut or lies):
            return replace(self, agent=ahead)
        if action == PICKUP and not self.hand and ahead == self.key:
            return replace(self, hand="key", key=None)
        if action == PICKUP and not self.hand and ahead == self.ball:
            return replace(self, hand="ball", ball=None)
        is_empty = not (self.is_wall(ahead) or lies) and ahead not in (
            self.door,
            (self.side - 2, self.side - 2),
        )
        if action == DROP and self.hand and is_empty:
            return replace(self, hand="", **{self.hand: ahead})
        if action == TOGGLE and ahead == self.door and (self.lock != LOCKED or self.hand == "key"):
            return replace(self, lock=CLOSED if self.lock == OPEN else OPEN)
        return self


def turns_to_goal(state: State, actions: tuple[int, ...] = tuple(range(6))) -> int:
    """Fewest actions of those given to the goal; -1 when there is no way."""
    away, queue = {state: 0}, deque([state])
    while queue:
        now = queue.popleft()
        if now.at_goal():
            return away[now]
        for action in actions:
            after = now.act(action)
            if after not in away:
                away[after] = away[now] + 1
                queue.append(after)
    return -1
