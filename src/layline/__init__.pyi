"""Types of the library's door; the module itself imports late."""

from layline.app.bench import bench_csv as bench_csv
from layline.app.campaign import campaign_status as campaign_status
from layline.app.campaign_audit import campaign_audit as campaign_audit
from layline.app.campaign_end import campaign_log as campaign_log
from layline.app.dashboard_build import dashboard_build as dashboard_build
from layline.app.dashboard_check import dashboard_check as dashboard_check
from layline.app.dashboard_index import dashboard_index as dashboard_index
from layline.app.doctor import doctor as doctor
from layline.app.gap import gap_show as gap_show
from layline.app.gap_audit import gap_audit as gap_audit
from layline.app.gap_find import gap_find as gap_find
from layline.app.gap_report import gap_report as gap_report
from layline.app.gap_verify import gap_verify as gap_verify
from layline.app.lessons import lessons_list as lessons_list
from layline.app.patches import patches_list as patches_list
from layline.app.patches_drift import patches_drift as patches_drift
from layline.app.patches_read import patches_find as patches_find
from layline.app.patches_read import patches_notes as patches_notes
from layline.app.patches_read import patches_port as patches_port
from layline.app.patches_read import patches_show as patches_show
from layline.app.periodic import periodic_monthly as periodic_monthly
from layline.app.periodic import periodic_weekly as periodic_weekly
from layline.core.evidence import Evidence as Evidence
from layline.core.evidence import Fact as Fact
from layline.core.evidence import Skipped as Skipped
from layline.core.report import Answer as Answer
from layline.core.report import Report as Report
from layline.errors import Error as Error
from layline.patches.drift.ask import DriftOptions as DriftOptions
from layline.periodic.run import Span as Span
from layline.render.markdown import render_markdown as render_markdown
from layline.render.text import render_text as render_text
from layline.workspace.open import Workspace as Workspace
from layline.workspace.open import open_workspace as open_workspace

__version__: str
__all__: list[str]
