"""Schema migrations, one file per version, applied in order by Alembic."""
