"""Optimal Recovery: exact certificates, conditional intervals and their calibration. NumPy in, NumPy out."""
