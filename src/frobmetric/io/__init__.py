"""Files of models, text files, and the preparation of tables that a model keeps."""

from .models import load, load_map, save

__all__ = ["load", "load_map", "save"]
