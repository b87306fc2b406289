"""What engines take and give: events, rows, findings, rules, parameters."""
