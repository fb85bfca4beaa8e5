"""Tables: typed cells, their formats, and the files they become."""
