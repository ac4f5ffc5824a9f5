"""What more is known of a failed call."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tools", "0005_run_client_ids")]

    operations = [migrations.AddField("toolrun", "detail", models.TextField(blank=True))]
