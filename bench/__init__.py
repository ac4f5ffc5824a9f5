"""Benchmarks. Each prints JSON lines: name, n, median, p99, unit, and ratio where two things are compared."""
