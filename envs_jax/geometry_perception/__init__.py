"""Figures, their places, areas and symmetries."""
