"""`sill bench`: run scenarios, judge their ratios against goals, report, compare. See docs/benchmarks.md.

scenario (what to measure, from TOML) -> runner (jobs, resources) -> results (JSON) -> judge (ratios, goals)
-> tables, plots, report.
"""
