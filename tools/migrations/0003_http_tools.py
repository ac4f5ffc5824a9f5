"""HTTP tools: drafts, published versions, and tools without an endpoint."""

import django.db.models.deletion
from django.db import migrations, models

import median_site.lib.clock
import median_site.lib.ids


class Migration(migrations.Migration):
    dependencies = [("team", "0002_key_signs_from"), ("tools", "0002_syncs_and_tests")]

    operations = [
        migrations.AlterField(
            model_name="tool",
            name="endpoint",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="tools",
                to="tools.endpoint",
            ),
        ),
        migrations.AddField(
            model_name="tool", name="definition", field=models.TextField(blank=True, default=""), preserve_default=False
        ),
        migrations.AlterField(
            model_name="toolrun", name="endpoint_id", field=models.CharField(blank=True, max_length=32)
        ),
        migrations.CreateModel(
            name="HttpTool",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=median_site.lib.ids.new_id,
                        editable=False,
                        max_length=32,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("name", models.CharField(max_length=64)),
                ("definition", models.TextField()),
                ("created_at", models.DateTimeField(default=median_site.lib.clock.now, editable=False)),
                ("changed_at", models.DateTimeField(default=median_site.lib.clock.now)),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="http_tools", to="team.workspace"
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("workspace", "name"), name="http_tool_name_unique")],
            },
        ),
        migrations.CreateModel(
            name="ToolVersion",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("number", models.PositiveIntegerField()),
                ("definitions", models.TextField()),
                ("published_at", models.DateTimeField()),
                ("by_id", models.CharField(blank=True, max_length=32)),
                ("by_name", models.CharField(blank=True, max_length=150)),
                ("restored_from", models.PositiveIntegerField(blank=True, null=True)),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="tool_versions", to="team.workspace"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("workspace", "number"), name="tool_version_number_unique")
                ],
            },
        ),
    ]
