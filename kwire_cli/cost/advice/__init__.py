"""What traffic says about definitions: which encodings and tags would have paid, from real values, and what they would have saved to the byte.

`observed` gathers what values fields have, `plan` chooses from that and writes the choice as an overlay, `predicted` prices it over messages, and
`findings.traffic_findings(catalog, lines)` says the same as findings of rules, for `kwire lint --traffic`.
"""
