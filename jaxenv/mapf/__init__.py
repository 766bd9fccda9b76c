"""Multi-agent path finding on square boards with holes: instances, rules, an exact solver, a generator.

Useful alone: nothing here knows of prompts, pictures or policies.
"""
