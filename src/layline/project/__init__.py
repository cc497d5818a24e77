"""What a project needs before any analyser can answer: settings proposed by looking, prerequisites, cache, skills."""
