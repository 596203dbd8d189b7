"""Questions about traffic and logs: SQL files over the tables of `kwire_cli.facts`, with TOML files for the texts."""
