-- Models that a price table in use does not know, with the calls that are therefore missing from its costs.
SELECT price_table, COALESCE(served_model, requested_model) AS model, COUNT(*) AS calls
FROM v_spend
WHERE cost_usd IS NULL AND reported = 1
GROUP BY price_table, COALESCE(served_model, requested_model)
ORDER BY MIN(table_position), price_table, calls DESC, model;
