//! Who answers where a policy says *ask*.

use super::Act;
use crate::base::BoxFuture;

/// An action that waits for an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// What kind of action.
    pub act: Act,
    /// What it acts on: a path, an argv joined with spaces, a host and port.
    pub target: String,
    /// What would be written, where something would be.
    pub content: Option<String>,
}

/// The answer to a [`Request`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Decision {
    /// Perform the action as it was asked for.
    Approve,
    /// Do not perform it; the model is told why.
    Deny {
        /// Shown to the model and kept in the trace.
        reason: String,
    },
}

/// Answers requests that the policy neither allows nor denies.
pub trait Approver: Send + Sync {
    /// Decides one request.
    fn decide<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Decision>;
}

/// Approves whatever is asked.
#[derive(Debug, Clone, Copy, Default)]
pub struct ApproveAll;

impl Approver for ApproveAll {
    fn decide<'a>(&'a self, _request: &'a Request) -> BoxFuture<'a, Decision> {
        Box::pin(std::future::ready(Decision::Approve))
    }
}

/// Denies whatever is asked: nobody is there to answer.
#[derive(Debug, Clone, Copy, Default)]
pub struct DenyAll;

impl Approver for DenyAll {
    fn decide<'a>(&'a self, _request: &'a Request) -> BoxFuture<'a, Decision> {
        Box::pin(std::future::ready(Decision::Deny {
            reason: "nobody is there to approve it".to_owned(),
        }))
    }
}
