-- Calls that another model served than the one asked for, as the vendor reported it.
SELECT suite, provider, requested_model, served_model, COUNT(*) AS calls, COUNT(DISTINCT case_id) AS cases
FROM v_call
WHERE served_model IS NOT NULL AND served_model <> requested_model
GROUP BY suite, provider, requested_model, served_model
ORDER BY suite, provider, calls DESC, requested_model, served_model;
