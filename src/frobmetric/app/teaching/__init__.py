"""Teaching of a metric by clicks: items, questions, the session, its files and its local page."""

from .items import Items, read_items
from .session import TeachingSession

__all__ = ["Items", "TeachingSession", "read_items"]
