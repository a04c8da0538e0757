"""The refusal of a view: raised wherever its text cannot be read, renamed or translated."""

from __future__ import annotations


class CannotTranslate(Exception):
    """Why a view keeps its HiveQL: a few words for people, which name the part of the query."""
