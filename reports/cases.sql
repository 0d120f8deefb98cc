-- Every case, in the order of the plan.
SELECT suite, case_id, task, provider, model, vars, trial, tags, file, line, outcome, reason,
       overrun_kind, attempts, wall_ms, setup_ms, provider_ms, waiting_ms, tool_ms, gate_ms, steps, tool_calls, malformed_calls,
       first_failed_phase, first_failed_gate, tampered, patch_files, patch_added, patch_removed, gates
FROM v_case
ORDER BY position, case_id;
