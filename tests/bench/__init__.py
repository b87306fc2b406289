"""The benchmark and its generator; not collected by the test command.

``python -m tests.bench --help`` says how it is run; ``generate`` writes captures with exact truth.
"""
