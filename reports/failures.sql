-- Cases that were judged and did not pass, each with the first gate that said no.
SELECT c.suite, c.case_id, c.task, c.provider, c.outcome, c.reason, c.file, c.line,
       c.steps, c.wall_ms, c.first_failed_phase AS phase, c.first_failed_gate AS gate,
       g.reason AS gate_reason, g.exit_code, g.output, g.output_bytes, g.output_cut
FROM v_case c
LEFT JOIN v_gate g ON g.case_id = c.case_id AND g.last_attempt = 1
                  AND g.phase = c.first_failed_phase AND g.gate = c.first_failed_gate
WHERE c.outcome IN ('failed', 'exhausted', 'refused')
ORDER BY c.position, c.case_id;
