"""Syncs that are under way and asked for, and tests of tools."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tools", "0001_first")]

    operations = [
        migrations.AddField("endpoint", "sync_due_at", models.DateTimeField(blank=True, null=True)),
        migrations.AddIndex(
            "endpoint",
            models.Index(
                condition=models.Q(("sync_due_at__isnull", False)), fields=["sync_due_at"], name="endpoint_sync_due"
            ),
        ),
        migrations.AddField("endpointsync", "ended_at", models.DateTimeField(blank=True, null=True)),
        migrations.AddField("endpointsync", "by_name", models.CharField(blank=True, max_length=150)),
        migrations.AddField("endpointsync", "summary", models.CharField(blank=True, max_length=300)),
        migrations.AddField("toolrun", "tested_as", models.CharField(blank=True, max_length=255)),
        migrations.AddField("toolrun", "tested_in", models.CharField(blank=True, max_length=32)),
    ]
