"""Teaching of a metric by clicks: items, questions, the session, its files and its local page."""

from .session import TeachingSession

__all__ = ["TeachingSession"]
