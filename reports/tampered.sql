-- Protected paths that were found changed after the agent had stopped, and were restored before the gates ran.
SELECT c.suite, c.case_id, c.outcome, json_extract(e.detail, '$.path') AS path, json_extract(e.detail, '$.how') AS how
FROM v_case c
JOIN v_event e ON e.case_id = c.case_id AND e.attempt = c.attempts
WHERE c.tampered > 0 AND e.event = 'tampered'
ORDER BY c.position, c.case_id, e.id;
