"""The benchmark of Sill: `bench/run` starts it, docs/benchmarks.md explains it."""
