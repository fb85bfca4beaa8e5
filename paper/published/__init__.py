"""Numbers printed in the paper, transcribed as data."""
