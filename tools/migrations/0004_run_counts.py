from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tools", "0003_http_tools")]

    operations = [
        migrations.AddIndex(
            model_name="toolrun",
            index=models.Index(
                fields=["workspace", "ended_at"],
                include=["tool_name", "tool_label", "state", "started_by"],
                name="run_ended",
            ),
        ),
        migrations.AddIndex(
            model_name="toolrun",
            index=models.Index(
                condition=models.Q(("state", "failed")),
                fields=["workspace", "tool_name", "-ended_at"],
                name="run_failed",
            ),
        ),
    ]
