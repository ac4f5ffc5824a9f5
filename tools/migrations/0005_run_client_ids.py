"""The sender's own id of a run by hand."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tools", "0004_run_counts")]

    operations = [
        migrations.AddField("toolrun", "client_id", models.CharField(blank=True, max_length=64)),
        migrations.AddConstraint(
            "toolrun",
            models.UniqueConstraint(
                condition=models.Q(("client_id", ""), _negated=True),
                fields=("workspace", "conversation", "by_id", "client_id"),
                name="run_client_id_unique",
            ),
        ),
    ]
