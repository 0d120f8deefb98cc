//! What a suite says of permissions, as a policy.

use crate::domain::{Act, Effect};
use crate::net::target;
use crate::policy::Policy;
use crate::suite::{CaseSpec, PolicySpec};

/// The policy of a case: the defaults of an unattended run, the task's own rules, and a wall around whatever
/// judges it. `endpoints` are what its provider dials, which the suite has named and therefore allowed.
pub(super) fn policy_of(spec: &CaseSpec, endpoints: &[String]) -> Policy {
    let mut policy = Policy::ci_default();
    let PolicySpec {
        read,
        write,
        exec,
        net,
        ..
    } = &spec.policy;
    for (act, allowed) in [
        (Act::Read, read),
        (Act::Write, write),
        (Act::Exec, exec),
        (Act::Net, net),
    ] {
        // A list of what is allowed says that nothing else is.
        if allowed.is_some() {
            policy = policy.default_for(act, Effect::Deny);
        }
    }
    policy = policy.layer("task");
    for (act, effect, patterns) in rules(&spec.policy) {
        for pattern in patterns.iter().flatten() {
            policy = policy.rule(act, effect, pattern);
        }
    }
    policy = policy.layer("protect");
    for pattern in protected_patterns(spec) {
        policy = policy.rule(Act::Write, Effect::Deny, pattern);
    }
    policy = policy.layer("provider");
    for host in endpoints.iter().filter_map(|url| target(url).ok()) {
        policy = policy.rule(Act::Net, Effect::Allow, host);
    }
    policy
}

/// Every list of a suite's policy with what it means.
const fn rules(policy: &PolicySpec) -> [(Act, Effect, &Option<Vec<String>>); 12] {
    [
        (Act::Read, Effect::Allow, &policy.read),
        (Act::Write, Effect::Allow, &policy.write),
        (Act::Exec, Effect::Allow, &policy.exec),
        (Act::Net, Effect::Allow, &policy.net),
        (Act::Read, Effect::Ask, &policy.ask_read),
        (Act::Write, Effect::Ask, &policy.ask_write),
        (Act::Exec, Effect::Ask, &policy.ask_exec),
        (Act::Net, Effect::Ask, &policy.ask_net),
        (Act::Read, Effect::Deny, &policy.deny_read),
        (Act::Write, Effect::Deny, &policy.deny_write),
        (Act::Exec, Effect::Deny, &policy.deny_exec),
        (Act::Net, Effect::Deny, &policy.deny_net),
    ]
}

/// What the agent must not change: what the task protects, and what its gates lay in.
pub(super) fn protected_patterns(spec: &CaseSpec) -> Vec<String> {
    let laid_in = spec
        .gates
        .iter()
        .flat_map(|gate| gate.files.iter().map(|(_, target)| target.to_string()));
    spec.protect.iter().cloned().chain(laid_in).collect()
}
