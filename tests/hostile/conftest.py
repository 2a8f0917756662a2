"""Hostile cases are driven through the real tools."""

from hostile.site import warm as warm
