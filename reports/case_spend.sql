-- What each case cost over all of its attempts, under the price table that comes first.
SELECT case_id, money_sum(cost_usd) AS cost_usd,
       COUNT(*) FILTER (WHERE cost_usd IS NULL AND reported = 1) AS unpriced,
       COUNT(*) FILTER (WHERE reported = 0 AND failure IS NULL) AS unreported_answers
FROM v_spend
WHERE table_position = (SELECT MIN(position) FROM v_price)
GROUP BY case_id
ORDER BY case_id;
