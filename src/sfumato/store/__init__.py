"""The store of a study: schema, queries, the one writer, migrations, backup, export and verification."""
