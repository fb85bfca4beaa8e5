"""Case A: the tensor-GP solver of a nonlinear elliptic equation, its parameter-choice rules and certificates."""
