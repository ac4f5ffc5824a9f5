"""Django's PostgreSQL backend, without the second index that it makes of each text key for LIKE.

No key is looked for by LIKE here, and a decision writes into six tables: those indexes were a quarter of its time.
"""

from django.db.backends.ddl_references import Statement
from django.db.backends.postgresql import base, schema
from django.db.models import Field, Model


class DatabaseSchemaEditor(schema.DatabaseSchemaEditor):
    def _create_like_index_sql(self, model: type[Model], field: "Field[object, object]") -> Statement | None:
        return None


class DatabaseWrapper(base.DatabaseWrapper):
    SchemaEditorClass = DatabaseSchemaEditor
