"""What the translation says when it cannot promise the same rows."""

from __future__ import annotations


class CannotTranslate(Exception):
    """Why a view keeps its HiveQL: a few words for people, which name the part of the query."""
