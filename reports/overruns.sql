-- Budgets that ran out, also where the gates passed all the same.
SELECT suite, case_id, outcome, overrun_kind AS kind, overrun_limit AS "limit", overrun_used AS used
FROM v_case
WHERE overrun_kind IS NOT NULL
ORDER BY position, case_id;
