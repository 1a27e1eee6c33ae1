"""Networks and what trains them. Rows come in and gradients go out; nothing of a row is kept."""
