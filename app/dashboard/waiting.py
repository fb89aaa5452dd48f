"""How far a job is, the button that ends it, and what became of it."""

import streamlit as st

from app.dashboard import answers
from app.dashboard.jobs import Job
from app.format import plural
from app.report.markup import Markup, tag

POLL_S = 1.0
"""How often a page asks how far its job is [s]."""


def wait_for(job: Job, doing: str, unit: str, kind: str = "") -> None:
    """Progress of a job, and a button that ends it.

    doing, unit: what it does, and what it counts. kind: of work, as `answers.ask` has it.
    """
    st.fragment(_progress, run_every=POLL_S)(job, doing, unit)
    st.button("Cancel", key=f"cancel{kind}", on_click=answers.cancel, args=(kind,), icon=":material/close:")


def _progress(job: Job, doing: str, unit: str) -> None:
    """How far a job is; the whole page anew once it has ended."""
    if not job.running:
        st.rerun()
    others = answers.all_jobs().others(job)
    shared = f" · shared with {plural(others, 'other')}" if others else ""
    share = min(job.done / job.total, 1.0) if job.total else 0.0
    st.progress(share, f"{doing}: {job.done:,} of {f'{job.total:,}' if job.total else '…'} {unit}{shared}", width=360)


def say_ended(job: Job | None) -> None:
    """Say on the page why a job gave no answer."""
    why = ended(job)
    if why is not None:
        st.html(why, width="content")


def ended(job: Job | None) -> Markup | None:
    """Why a job gave no answer; None where it did, or still may."""
    if job is None or job.state not in ("failed", "cancelled"):
        return None
    return tag("span", f" {job.problem or 'cancelled'}", class_="sf-dim sf-ended")
