//! Providers that break in the middle: tried again, reported, and no case's fault but their own.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::{bench, run};
use crate::support::http::{Reply, Server, delta, finish, says};
use crate::support::taskgate::Taskgate;

fn suite(server: &Server, retry: &str) -> Taskgate {
    let taskgate = bench("", super::IDLE);
    taskgate.filled(
        "suite.yaml",
        &format!(
            "version: 1\nname: s\nproviders:\n  p: {{ vendor: compatible, base_url: \"{}\", model: m, idle_timeout: 400ms, retry: {retry} }}\ntasks: [ {{ id: t, goal: g, workspace: {{ files: {{ a.txt: a }} }}, gates: [ {{ name: a, file_equals: {{ path: a.txt, text: a }} }} ] }} ]\n",
            server.base_url()
        ),
    );
    taskgate
}

fn begun() -> Reply {
    Reply::status(200)
        .header("content-type", "text/event-stream")
        .event(&delta(json!({"content": "half a"})).to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_breaks_is_asked_again() {
    let call = json!({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "write_file", "arguments": "{\"path\":\"a.txt\",\"content\":\"b\"}"}}]});
    let server = Server::start([
        begun().stall(),
        begun().break_off(),
        // An order that is cut off is never carried out.
        Reply::status(200)
            .header("content-type", "text/event-stream")
            .event(&delta(call).to_string()),
        begun().event(r#"{"error":{"message":"overloaded","code":529}}"#),
        Reply::status(503).header("retry-after", "0").send("busy"),
        Reply::status(200)
            .header("content-type", "text/html")
            .send("<html>a proxy</html>"),
        says("done"),
    ])
    .await;
    let taskgate = suite(&server, "{ attempts: 7, base: 1ms, max: 1ms }");
    let ran = tokio::task::block_in_place(|| run(&taskgate, &[]));
    let calls = "SELECT step, call, coalesce(failure, '-'), coalesce(failure_status, '-'), coalesce(failure_message, '-') FROM v_call ORDER BY step, call";
    let host = server.base_url();
    let host = host.trim_start_matches("http://").trim_end_matches("/v1");
    let said = taskgate.rows("t.db", calls).replace(host, "[HOST]");
    insta::assert_snapshot!(said, @r#"
    1,1,timeout,-,[HOST]: no data for 400ms
    1,2,transport,-,[HOST]: unexpected EOF during chunk size line
    1,3,malformed,-,the stream ended before the answer did: neither a finish reason nor [DONE] came
    1,4,overloaded,529,overloaded
    1,5,overloaded,503,busy
    1,6,malformed,-,the answer holds no event (text/html): <html>a proxy</html>
    1,7,-,-,-
    "#);
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    // The calls that failed are counted, and nothing of theirs was carried out.
    assert!(
        taskgate.read("t.md").contains("| p | 7 | 6 |"),
        "{}",
        taskgate.read("t.md")
    );
    assert_eq!(taskgate.rows("t.db", "SELECT count(*) FROM v_tool"), "0");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_stays_broken_is_errored_and_never_failed() {
    let server = Server::start([
        Reply::raw("", true),
        Reply::raw("", true),
        Reply::raw("", true),
    ])
    .await;
    let taskgate = suite(&server, "{ attempts: 2, base: 1ms, max: 1ms }");
    let ran = tokio::task::block_in_place(|| run(&taskgate, &[]));
    let said = taskgate.rows("t.db", "SELECT outcome, reason FROM v_case");
    assert_eq!(ran.code, Some(20), "{said}{}", ran.stderr);
    assert!(said.starts_with("errored,"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hostile_answer_is_an_answer_to_the_model() {
    let call = |index: u32, name: &str, arguments: &str| json!({"index": index, "id": format!("c{index}"), "function": {"name": name, "arguments": arguments}});
    let server = Server::start([
        Reply::events([
            delta(json!({"tool_calls": [
                call(0, "write_file", r#"{"path": "a.txt", "conte"#),
                call(1, "no_such_tool", "{}"),
                call(2, "write_file", r#"{"path": "../../escape.txt", "content": "x"}"#),
                call(3, "read_file", r#"{"path": 7}"#),
                call(4, "\u{1b}[31mred", "{}"),
            ]})),
            finish("tool_calls"),
        ])
        .done(),
        says("I give up"),
    ])
    .await;
    let taskgate = suite(&server, "{ attempts: 1 }");
    let ran = tokio::task::block_in_place(|| run(&taskgate, &[]));
    let tools = "SELECT position, tool, ok, decision FROM v_tool ORDER BY position";
    insta::assert_snapshot!(taskgate.rows("t.db", tools), @r#"
    0,write_file,0,write_file malformed arguments
    1,no_such_tool,0,unknown tool no_such_tool
    2,write_file,0,write refused
    3,read_file,0,read_file wrong arguments
    4,red,0,unknown tool red
    "#);
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    let sent = server
        .requests()
        .last()
        .expect("a request")
        .body
        .to_string();
    assert!(
        sent.contains("not valid JSON") || sent.contains("JSON"),
        "{sent}"
    );
}
