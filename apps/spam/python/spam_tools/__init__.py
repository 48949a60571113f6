"""spam's tools in Python: pictures and films of what a run left, and the sweep through its options."""
