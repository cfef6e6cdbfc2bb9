"""Change of encoder: queries of a new encoder search the index of an old one."""

from .bridge import EncoderBridge

__all__ = ["EncoderBridge"]
