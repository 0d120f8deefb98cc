-- Cases that were not judged, and why.
SELECT suite, case_id, task, provider, outcome, reason, attempts
FROM v_case
WHERE outcome IN ('errored', 'interrupted', 'skipped')
ORDER BY position, case_id;
