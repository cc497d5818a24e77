"""What lies between pin and tip, and what it does to us: dependencies, areas, surface, coupling, the report."""
