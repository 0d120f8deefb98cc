//! The one gate before every tool.

use super::dispatch::ToolContext;
use super::table::Intent;
use crate::base::{RelPath, clip_head};
use crate::domain::{Act, Decision, Effect, EventKind, Request};
use crate::policy::{Target, Verdict};
use crate::workspace::{Resolved, WorkspaceError};

/// The rule that is named where a path leads out of the workspace.
const OUTSIDE: &str = "<resolves outside the workspace root>";

/// How much of a target the trace keeps, in characters.
const TARGET_LIMIT: usize = 500;

/// The gate's answer.
pub(super) enum Passage {
    /// The call may be performed, on this path where it names one.
    Open(Option<Resolved>),
    /// It may not; this is what the model is told.
    Closed { decision: String, text: String },
}

impl ToolContext {
    /// Asks the policy, and where it says so the approver, about all that a call will do.
    pub(super) async fn pass(&self, intent: &Intent, events: &mut Vec<EventKind>) -> Passage {
        match intent {
            Intent::Search => Passage::Open(None),
            Intent::Exec { argv } => {
                let target = Target::Argv(argv);
                let verdict = self.policy.decide(Act::Exec, &target);
                let request = || Request {
                    act: Act::Exec,
                    target: argv.join(" "),
                    content: None,
                };
                self.answer_for(&verdict, &target, request, events)
                    .await
                    .map_or(Passage::Open(None), closed)
            }
            Intent::Path {
                acts,
                path,
                content,
            } => self.pass_path(acts, path, content.as_ref(), events).await,
        }
    }

    async fn pass_path(
        &self,
        acts: &[Act],
        path: &str,
        content: Option<&String>,
        events: &mut Vec<EventKind>,
    ) -> Passage {
        let strictest = acts.last().copied().unwrap_or(Act::Read);
        let at = match self.workspace.resolve(path) {
            Ok(at) => at,
            Err(error @ WorkspaceError::Outside { .. }) => {
                events.push(refused(
                    strictest,
                    clip_head(path, TARGET_LIMIT).into_owned(),
                    Some(OUTSIDE.to_owned()),
                    None,
                    "policy",
                ));
                return closed((strictest, format!("refused: {error}")));
            }
            Err(error) => {
                return Passage::Closed {
                    decision: format!("{} error", strictest.as_str()),
                    text: error.to_string(),
                };
            }
        };
        for act in acts {
            let content = content.filter(|_| *act == Act::Write);
            if let Some(refusal) = self.refusal_at(*act, &at, content, events).await {
                return closed(refusal);
            }
        }
        Passage::Open(Some(at))
    }

    /// What the model is told where an act on a path is refused.
    async fn refusal_at(
        &self,
        act: Act,
        at: &Resolved,
        content: Option<&String>,
        events: &mut Vec<EventKind>,
    ) -> Option<(Act, String)> {
        // A link inside the workspace is judged by where it stands and by where it leads; the stricter answer holds.
        let lexical = self.policy.decide(act, &Target::Path(at.lexical.as_str()));
        let canonical = self
            .policy
            .decide(act, &Target::Path(at.canonical.as_str()));
        let (verdict, judged) = if canonical.effect > lexical.effect {
            (canonical, &at.canonical)
        } else {
            (lexical, &at.lexical)
        };
        let target = Target::Path(judged.as_str());
        let request = || Request {
            act,
            target: judged.to_string(),
            content: content.cloned(),
        };
        self.answer_for(&verdict, &target, request, events).await
    }

    /// What the model is told where the act is refused.
    async fn answer_for(
        &self,
        verdict: &Verdict,
        target: &Target<'_>,
        request: impl Fn() -> Request,
        events: &mut Vec<EventKind>,
    ) -> Option<(Act, String)> {
        if verdict.effect == Effect::Allow {
            return None;
        }
        let request = request();
        let (by, reason) = match verdict.effect {
            Effect::Allow | Effect::Deny => ("policy", String::new()),
            Effect::Ask => match self.approver.decide(&request).await {
                Decision::Approve => {
                    let target = clip_head(&request.target, TARGET_LIMIT).into_owned();
                    events.push(EventKind::Approved {
                        act: request.act,
                        target,
                    });
                    return None;
                }
                Decision::Deny { reason } => ("approver", format!(", and {reason}")),
            },
        };
        let shown = clip_head(&request.target, TARGET_LIMIT).into_owned();
        events.push(refused(
            request.act,
            shown,
            verdict.rule.clone(),
            verdict.layer.clone(),
            by,
        ));
        Some((
            request.act,
            format!(
                "refused: {}{reason}",
                self.policy.explain(request.act, target)
            ),
        ))
    }

    /// Whether a search may show what is in a file: only what may be read without asking.
    pub(super) fn is_visible(&self, path: &RelPath) -> bool {
        self.policy
            .decide(Act::Read, &Target::Path(path.as_str()))
            .effect
            == Effect::Allow
    }
}

fn closed((act, text): (Act, String)) -> Passage {
    Passage::Closed {
        decision: format!("{} refused", act.as_str()),
        text,
    }
}

fn refused(
    act: Act,
    target: String,
    rule: Option<String>,
    layer: Option<String>,
    by: &str,
) -> EventKind {
    EventKind::Refused {
        act,
        target,
        rule,
        layer,
        by: by.to_owned(),
    }
}
