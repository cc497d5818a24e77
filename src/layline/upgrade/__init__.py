"""From what breaks to code that fits again; stands above the analysers, because it judges again after each edit."""
