"""Other indexes of these tables lead with the workspace; those of the workspace alone were written and never read."""

import django.db.models.deletion
from django.db import migrations, models

RELATED = {
    "assistantexchange": ("+", "agent_assistantexchange_workspace_id_5d2cf528"),
    "errand": ("+", "agent_errand_workspace_id_b4fde3bb"),
    "step": ("+", "agent_step_workspace_id_19350336"),
    "turn": ("+", "agent_turn_workspace_id_9735e44e"),
}


class Migration(migrations.Migration):
    dependencies = [("agent", "0005_assistant")]

    operations = [
        # Not by AlterField alone, which makes the foreign key anew and checks every row.
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    f"drop index if exists {index}", f"create index {index} on agent_{name} (workspace_id)"
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
