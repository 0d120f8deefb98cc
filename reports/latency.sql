-- Our wall time per provider, in milliseconds. Call figures are of calls that were answered; a time to the first content
-- that nothing measured is left out, never counted as zero. Output tokens per second are over whole calls.
WITH calls AS (
    SELECT suite, provider,
           COUNT(*) AS calls,
           COUNT(failure) AS failed_calls,
           COUNT(CASE WHEN failure IS NULL THEN ttft_ms END) AS ttft_known,
           percentile(CASE WHEN failure IS NULL THEN ttft_ms END, 50) AS ttft_p50,
           percentile(CASE WHEN failure IS NULL THEN ttft_ms END, 95) AS ttft_p95,
           percentile(CASE WHEN failure IS NULL THEN latency_ms END, 50) AS call_p50,
           percentile(CASE WHEN failure IS NULL THEN latency_ms END, 95) AS call_p95,
           percentile(CASE WHEN failure IS NULL THEN latency_ms END, 99) AS call_p99,
           1000.0 * SUM(CASE WHEN failure IS NULL THEN completion_tokens END)
               / NULLIF(SUM(CASE WHEN failure IS NULL AND completion_tokens IS NOT NULL THEN latency_ms END), 0) AS output_per_second
    FROM v_call
    GROUP BY provider, suite
), cases AS (
    SELECT suite, provider,
           MIN(position) AS first,
           percentile(CASE WHEN outcome IN ('passed', 'failed', 'exhausted', 'refused') THEN wall_ms END, 50) AS wall_p50,
           percentile(CASE WHEN outcome IN ('passed', 'failed', 'exhausted', 'refused') THEN wall_ms END, 95) AS wall_p95
    FROM v_case
    GROUP BY provider, suite
)
SELECT suite, provider, COALESCE(calls, 0) AS calls, COALESCE(failed_calls, 0) AS failed_calls, COALESCE(ttft_known, 0) AS ttft_known,
       ttft_p50, ttft_p95, call_p50, call_p95, call_p99, output_per_second, wall_p50, wall_p95
FROM cases
LEFT JOIN calls USING (suite, provider)
ORDER BY first, suite, provider;
