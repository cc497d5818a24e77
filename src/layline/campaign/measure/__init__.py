"""The measuring run: arms fed and checked call by call, probes, controls, until the judge can tell."""
