import django.db.models.deletion
from django.db import migrations, models

import median_site.lib.clock


class Migration(migrations.Migration):
    dependencies = [("team", "0002_key_signs_from")]

    operations = [
        migrations.CreateModel(
            name="ApiAnswer",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("key", models.CharField(max_length=255)),
                ("fingerprint", models.CharField(max_length=64)),
                ("status", models.PositiveSmallIntegerField(null=True)),
                ("body", models.TextField(blank=True)),
                ("created_at", models.DateTimeField(default=median_site.lib.clock.now, editable=False)),
                (
                    "api_key",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="+", to="team.apikey"),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="team.workspace"
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["created_at"], name="api_answer_oldest")],
                "constraints": [
                    models.UniqueConstraint(fields=("workspace", "api_key", "key"), name="api_answer_unique")
                ],
            },
        ),
        migrations.CreateModel(
            name="ApiUse",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("minute", models.DateTimeField()),
                ("reads", models.PositiveIntegerField(default=0)),
                ("writes", models.PositiveIntegerField(default=0)),
                (
                    "api_key",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="+", to="team.apikey"),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="team.workspace"
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["minute"], name="api_use_oldest")],
                "constraints": [
                    models.UniqueConstraint(fields=("workspace", "api_key", "minute"), name="api_use_unique")
                ],
            },
        ),
    ]
