-- Providers side by side: what they passed with its Wilson 95 % interval, and over several trials pass@1, pass@k and pass^k.
-- The trial figures are means over the task and variable assignments of which all k trials were judged.
WITH task_trials AS (
    SELECT suite, provider, task, vars,
           MAX(trial) AS k,
           COUNT(*) FILTER (WHERE outcome IN ('passed', 'failed', 'exhausted', 'refused')) AS n,
           COUNT(*) FILTER (WHERE outcome = 'passed') AS c
    FROM v_case
    GROUP BY suite, provider, task, vars
), trials AS (
    SELECT suite, provider,
           MAX(k) AS k,
           SUM(n >= k) AS complete,
           AVG(CASE WHEN n > 0 THEN pass_at_k(n, c, 1) END) AS pass_at_1,
           AVG(pass_at_k(n, c, k)) AS pass_at_k,
           AVG(pass_hat_k(n, c, k)) AS pass_hat_k
    FROM task_trials
    GROUP BY suite, provider
), cases AS (
    SELECT suite, provider,
           MIN(position) AS first,
           MIN(model) AS model,
           COUNT(*) AS cases,
           COUNT(*) FILTER (WHERE outcome IN ('passed', 'failed', 'exhausted', 'refused')) AS judged,
           COUNT(*) FILTER (WHERE outcome = 'passed') AS passed,
           COUNT(*) FILTER (WHERE outcome = 'failed') AS failed,
           COUNT(*) FILTER (WHERE outcome = 'exhausted') AS exhausted,
           COUNT(*) FILTER (WHERE outcome = 'refused') AS refused,
           COUNT(*) FILTER (WHERE outcome = 'errored') AS errored,
           COUNT(*) FILTER (WHERE outcome = 'interrupted') AS interrupted,
           COUNT(*) FILTER (WHERE outcome = 'skipped') AS skipped,
           COUNT(*) FILTER (WHERE outcome IS NULL) AS unfinished
    FROM v_case
    GROUP BY suite, provider
)
SELECT suite, provider, model, cases, judged, passed, failed, exhausted, refused, errored, interrupted, skipped, unfinished,
       1.0 * passed / NULLIF(judged, 0) AS rate,
       wilson_low(passed, judged) AS rate_low,
       wilson_high(passed, judged) AS rate_high,
       k AS trials,
       CASE WHEN k > 1 THEN complete END AS complete_groups,
       CASE WHEN k > 1 THEN pass_at_1 END AS pass_at_1,
       CASE WHEN k > 1 THEN pass_at_k END AS pass_at_k,
       CASE WHEN k > 1 THEN pass_hat_k END AS pass_hat_k
FROM cases JOIN trials USING (suite, provider)
ORDER BY first, suite, provider;
