"""Builds the course's site: checks the chapters, runs them and renders their pages."""
