"""Side-by-side measurements that print ratios. `python -m benchmarks.steps` is the one for browser steps."""
