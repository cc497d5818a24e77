"""A built site, read as a stranger would: nothing but the files themselves is trusted."""

from layline.dashboard.check.site import Checked, check_site

__all__ = ["Checked", "check_site"]
