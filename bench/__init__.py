"""Benchmarks. Never imported by the package; every figure stands beside a baseline of
the same run.
"""
