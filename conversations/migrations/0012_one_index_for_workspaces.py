"""Other indexes of these tables lead with the workspace; those of the workspace alone were written and never read."""

import django.db.models.deletion
from django.db import migrations, models

RELATED = {
    "conversation": ("conversations", "conversations_conversation_workspace_id_38020c4d"),
    "customer": ("customers", "conversations_customer_workspace_id_7cc63b9b"),
    "draft": ("+", "conversations_draft_workspace_id_0a16076e"),
    "item": ("+", "conversations_item_workspace_id_6feae7a1"),
    "lesson": ("+", "conversations_lesson_workspace_id_43bc1573"),
    "readmark": ("+", "conversations_readmark_workspace_id_fda335b4"),
    "savedreply": ("saved_replies", "conversations_savedreply_workspace_id_acf696c8"),
    "widgetuse": ("+", "conversations_widgetuse_workspace_id_121cca2d"),
}


class Migration(migrations.Migration):
    dependencies = [("conversations", "0011_quoted")]

    operations = [
        # Not by AlterField alone, which makes the foreign key anew and checks every row.
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    f"drop index if exists {index}", f"create index {index} on conversations_{name} (workspace_id)"
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
