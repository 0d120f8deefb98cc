//! No secret reaches the file.

use taskgate::base::{Bounded, Redactor};
use taskgate::domain::{
    Arguments, Block, EventKind, Message, ProviderError, ProviderErrorKind, RunOutcome, ToolCall,
    Verdict,
};
use taskgate::store::{CHECKPOINT_FORMAT, Store, StoredCheckpoint, StoredMessage};

use super::support::{batch, beginning, call, case, case_ref, commit, finished, gate, run, tool};
use taskgate::domain::{CaseOutcome, GateStatus};

/// A secret that JSON would write in another way than it reads.
const SECRET: &str = "sk-\"very\"\\secret";

#[tokio::test]
async fn whatever_text_holds_a_secret_is_stored_without_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("trace.db");
    let redactor = Redactor::default();
    redactor.add(SECRET);
    // A secret that reads like a key of ours breaks nothing.
    redactor.add("blocks");
    let store = Store::create(&path, redactor).expect("a new trace");

    let mut planned = case("a", 1);
    planned.spec = serde_json::json!({ SECRET: SECRET });
    let mut record = batch(vec![planned]);
    record.options = serde_json::json!([SECRET]);
    record.suites[0].warnings = vec![SECRET.to_owned()];
    store.begin_batch(record).await.expect("a batch");
    let case = case_ref("a", 1);
    let id = store.next_run_id();
    let mut start = run(id, Some(case.clone()));
    start.contract = serde_json::json!({ "goal": SECRET });
    store.start_run(start).await.expect("a run");

    let bounded = || Bounded {
        text: SECRET.repeat(50),
        total: 1,
        cut: 0,
    };
    let mut kinds = beginning(SECRET).to_vec();
    kinds.extend([
        EventKind::Started {
            goal: SECRET.to_owned(),
            provider: SECRET.to_owned(),
            model: SECRET.to_owned(),
        },
        EventKind::ModelCalled(taskgate::domain::ProviderCall {
            failure: Some(ProviderError::new(ProviderErrorKind::Auth, SECRET)),
            served_model: Some(SECRET.to_owned()),
            ..call(1)
        }),
        tool(SECRET, SECRET),
        EventKind::Verified(Verdict {
            output: bounded(),
            ..Verdict::of(false, SECRET)
        }),
        EventKind::Patched {
            files: 1,
            added: 1,
            removed: 1,
            patch: bounded(),
        },
        gate(0, SECRET, SECRET, GateStatus::Failed, &SECRET.repeat(50)),
        EventKind::Finished {
            outcome: RunOutcome::Escalated {
                failure: ProviderError::new(ProviderErrorKind::Auth, SECRET),
            },
            steps: 1,
            tokens: 1,
            error: Some(SECRET.to_owned()),
        },
        finished(CaseOutcome::Errored),
    ]);
    let mut stored = commit(Some(&case), Some(id), 1, kinds);
    let blocks = vec![
        Block::Text {
            text: SECRET.repeat(50),
        },
        Block::ToolCall(ToolCall {
            id: "1".to_owned(),
            name: "exec".to_owned(),
            arguments: Arguments::Json(serde_json::json!({ SECRET: [SECRET] })),
        }),
        Block::Opaque {
            vendor: "v".to_owned(),
            value: serde_json::json!({ "blocks": { "x": SECRET } }),
        },
    ];
    stored.messages.push(StoredMessage {
        run_id: id,
        position: 0,
        message: Message::assistant(blocks),
    });
    stored.checkpoint = Some(StoredCheckpoint {
        run_id: id,
        format: CHECKPOINT_FORMAT,
        step: 1,
        state: r#"{"blocks":"blocks"}"#.to_owned(),
    });
    store.commit(stored).await.expect("a commit");

    let loaded = store.load_run(id).expect("the run reads back");
    assert_eq!(
        loaded.checkpoint.map(|checkpoint| checkpoint.state),
        Some(r#"{"blocks":"[redacted]"}"#.to_owned())
    );
    assert_eq!(loaded.messages[0].blocks.len(), 3);
    store.batch().expect("the batch reads back");
    store.close().await.expect("a clean end");

    let bytes = std::fs::read(&path).expect("the file");
    let json = serde_json::to_string(SECRET).expect("a text");
    for form in [SECRET, json.trim_matches('"'), "very\\\"", "very\""] {
        let found = bytes
            .windows(form.len())
            .any(|window| window == form.as_bytes());
        assert!(!found, "{form}");
    }
    assert!(bytes.windows(10).any(|window| window == b"[redacted]"));
}
