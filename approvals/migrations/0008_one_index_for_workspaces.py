"""Other indexes of these tables lead with the workspace; those of the workspace alone were written and never read."""

import django.db.models.deletion
from django.db import migrations, models

RELATED = {
    "alert": ("+", "approvals_alert_workspace_id_28a160db"),
    "alertlink": ("+", "approvals_alertlink_workspace_id_76550eb7"),
    "alertpress": ("+", "approvals_alertpress_workspace_id_314ff2de"),
    "review": ("+", "approvals_review_workspace_id_59c673fd"),
    "toolapproval": ("approvals", "approvals_toolapproval_workspace_id_7b9a9826"),
}


class Migration(migrations.Migration):
    dependencies = [("approvals", "0007_denial_reason")]

    operations = [
        # Not by AlterField alone, which makes the foreign key anew and checks every row.
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    f"drop index if exists {index}", f"create index {index} on approvals_{name} (workspace_id)"
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
