"""Geo helpers."""
