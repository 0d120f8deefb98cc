-- What the policy and the approver refused most often; `kinds` counts the groups before the cut at twenty.
SELECT act, target, rule, layer, "by", COUNT(*) AS refusals, COUNT(DISTINCT case_id) AS cases,
       COUNT(*) OVER () AS kinds
FROM v_refusal
GROUP BY act, target, rule, layer, "by"
ORDER BY refusals DESC, act, target, rule, layer, "by"
LIMIT 20;
