"""How the tables of a store came to be, one file a change, applied in order by Alembic."""
