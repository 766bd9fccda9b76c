"""The environments of this project, a folder a family. Importing this imports none of them."""

ENVIRONMENTS = {
    "frozen_lake": "envs_jax.navigation.frozen_lake:FrozenLake",
    "maze_2d": "envs_jax.navigation.maze_2d:Maze2D",
    "door_key": "envs_jax.navigation.door_key:DoorKey",
    "sokoban": "envs_jax.physics_puzzle.sokoban:Sokoban",
    "sliding_tile": "envs_jax.physics_puzzle.sliding_tile:SlidingTile",
    "lights_out": "envs_jax.grid_logic.lights_out:LightsOut",
    "mini_sudoku": "envs_jax.grid_logic.mini_sudoku:MiniSudoku",
    "futoshiki": "envs_jax.grid_logic.futoshiki:Futoshiki",
    "rotate_matrix": "envs_jax.matrix.rotate_matrix:RotateMatrix",
    "spiral_matrix": "envs_jax.matrix.spiral_matrix:SpiralMatrix",
    "addition_table": "envs_jax.arithmetic_table.addition_table:AdditionTable",
    "rectangle_count": "envs_jax.counting_perception.rectangle_count:RectangleCount",
}
