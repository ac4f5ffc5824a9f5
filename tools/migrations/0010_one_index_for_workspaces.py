"""Other indexes of these tables lead with the workspace; those of the workspace alone were written and never read."""

import django.db.models.deletion
from django.db import migrations, models

RELATED = {
    "endpoint": ("endpoints", "tools_endpoint_workspace_id_01139093"),
    "endpointsync": ("+", "tools_endpointsync_workspace_id_81c86a1e"),
    "httptool": ("http_tools", "tools_httptool_workspace_id_9a8a65ec"),
    "tool": ("tools", "tools_tool_workspace_id_d2e1f60b"),
    "toolrun": ("runs", "tools_toolrun_workspace_id_b444002b"),
    "toolversion": ("tool_versions", "tools_toolversion_workspace_id_05b08c4a"),
}


class Migration(migrations.Migration):
    dependencies = [("tools", "0009_set_risk")]

    operations = [
        # Not by AlterField alone, which makes the foreign key anew and checks every row.
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    f"drop index if exists {index}", f"create index {index} on tools_{name} (workspace_id)"
                )
                for name, (_, index) in RELATED.items()
            ],
            state_operations=[
                migrations.AlterField(
                    name,
                    "workspace",
                    models.ForeignKey(
                        "team.workspace", django.db.models.deletion.CASCADE, related_name=related, db_index=False
                    ),
                )
                for name, (related, _) in RELATED.items()
            ],
        )
    ]
