"""Harness of all experiments and benchmarks: tasks, cells, runs, summaries and pages.

A *task* says what determines a result; its *cell* is the result as plain data, stored in a JSON
file as soon as it is finished. An experiment is a folder that plans tasks, measures them, and turns
cells into tables and figures for its `page.md`. A benchmark is a file whose tasks are its parts.
"""
