"""Wide views for people, recreated whenever their text changes."""
