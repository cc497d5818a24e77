"""What became of the targets of our patches between two upstream commits: asked, read, judged, kept and told."""
