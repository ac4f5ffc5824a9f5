"""Other indexes of these tables lead with the workspace; those of the workspace alone were written and never read."""

import django.db.models.deletion
from django.db import migrations, models

RELATED = {
    "emailmessage": ("+", "mail_emailmessage_workspace_id_791caef7"),
}


class Migration(migrations.Migration):
    dependencies = [("mail", "0002_mailbox")]

    operations = [
        # Not by AlterField alone, which makes the foreign key anew and checks every row.
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    f"drop index if exists {index}", f"create index {index} on mail_{name} (workspace_id)"
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
