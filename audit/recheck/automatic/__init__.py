"""Checks that need no annotation: what tables and sentences must satisfy whatever they are about."""
