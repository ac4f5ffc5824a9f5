"""Other indexes of these tables lead with the workspace; those of the workspace alone were written and never read."""

import django.db.models.deletion
from django.db import migrations, models

RELATED = {
    "apianswer": ("+", "team_apianswer_workspace_id_29e52e69"),
    "apikey": ("api_keys", "team_apikey_workspace_id_d1f14a0c"),
    "apiuse": ("+", "team_apiuse_workspace_id_8fb76c6b"),
    "event": ("events", "team_event_workspace_id_09465f0d"),
    "invitation": ("invitations", "team_invitation_workspace_id_de7c9161"),
    "notification": ("+", "team_notification_workspace_id_5e73fa21"),
    "signingkey": ("signing_keys", "team_signingkey_workspace_id_3fff0960"),
    "teammate": ("teammates", "team_teammate_workspace_id_d8499088"),
}


class Migration(migrations.Migration):
    dependencies = [("team", "0009_notifications")]

    operations = [
        # Not by AlterField alone, which makes the foreign key anew and checks every row.
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    f"drop index if exists {index}", f"create index {index} on team_{name} (workspace_id)"
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
