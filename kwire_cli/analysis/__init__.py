"""Questions about traffic, logs and definitions. Each has a file or folder with a fold over inputs and its answer."""
