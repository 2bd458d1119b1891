"""Devices of one user in step: histories against an oracle, and how long it takes."""
