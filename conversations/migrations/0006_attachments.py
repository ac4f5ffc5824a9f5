import django.db.models.deletion
from django.db import migrations, models

import median_site.lib.clock
import median_site.lib.ids


class Migration(migrations.Migration):
    dependencies = [
        ("conversations", "0005_snoozes"),
        ("team", "0008_retention"),
    ]

    operations = [
        migrations.AddField(
            model_name="item",
            name="files",
            field=models.JSONField(db_default=[], default=list),
        ),
        migrations.CreateModel(
            name="Attachment",
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
                ("uploader_kind", models.CharField(max_length=8)),
                ("uploader_id", models.CharField(max_length=32)),
                ("name", models.CharField(max_length=150)),
                ("content_type", models.CharField(max_length=40)),
                ("size", models.PositiveIntegerField()),
                ("sha256", models.CharField(max_length=64)),
                ("width", models.PositiveIntegerField(default=0)),
                ("height", models.PositiveIntegerField(default=0)),
                ("created_at", models.DateTimeField(default=median_site.lib.clock.now, editable=False)),
                (
                    "conversation",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="conversations.conversation",
                    ),
                ),
                (
                    "item",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="conversations.item",
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="team.workspace"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="AttachmentBytes",
            fields=[
                (
                    "attachment",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="bytes",
                        serialize=False,
                        to="conversations.attachment",
                    ),
                ),
                ("data", models.BinaryField()),
                ("thumbnail", models.BinaryField(null=True)),
                ("reading", models.BinaryField(null=True)),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="team.workspace"
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="attachment",
            index=models.Index(condition=models.Q(("item", None)), fields=["created_at"], name="attachment_unsent"),
        ),
    ]
