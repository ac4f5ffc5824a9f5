"""A conversation keeps the version of HTTP tools that it started with."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("conversations", "0001_first")]

    operations = [
        migrations.AddField(
            model_name="conversation", name="tool_version", field=models.PositiveIntegerField(default=0)
        )
    ]
