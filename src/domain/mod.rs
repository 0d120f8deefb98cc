//! The words of the contract as plain data: what is asked of an agent, what it may spend, what was said,
//! what happened and how it ended. Nothing here performs anything.

mod act;
mod approval;
mod budget;
mod case;
mod completion;
mod contract;
mod event;
mod message;
mod outcome;
mod price;
mod tool;
mod verification;

pub use act::{Act, Effect};
pub use approval::{ApproveAll, Approver, Decision, DenyAll, Request};
pub use budget::{Budget, BudgetKind, RetryPolicy, StallPolicy};
pub use case::{
    BatchRecord, CaseId, CaseOutcome, CaseRecord, CaseRef, CaseTimes, GateResult, GateStatus,
    Overrun, PriceRecord, SuiteRecord, TamperKind,
};
pub use completion::{
    CompletionRequest, CompletionResponse, DeltaSink, FinishReason, IgnoreDeltas, ProviderCall,
    ProviderError, ProviderErrorKind, ToolChoice, Usage,
};
pub use contract::TaskContract;
pub use event::{EventKind, RunEvent};
pub use message::{Arguments, Block, Message, Role, ToolCall};
pub use outcome::{RunId, RunOutcome, RunResult};
pub use price::{Price, PriceTable};
pub use tool::{ToolOutput, ToolSpec};
pub use verification::{Verdict, Verification};
